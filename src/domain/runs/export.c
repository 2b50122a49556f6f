/* Export and import of runs. */
#include "domain/runs/export.h"

#include "base/json.h"
#include "domain/audit/audit.h"
#include "domain/runs/attributes.h"
#include "store/dump/dump.h"
#include "store/store_run.h"

#define LINE_BYTES_MAX (24u * 1024 * 1024)

static void put_marker(struct buf *out, const char *kind, const char *cursor)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_put_key(&w, "t");
    json_put_text(&w, kind);
    if (cursor) {
        json_put_key(&w, "cursor");
        json_put_text(&w, cursor);
    }
    json_end_object(&w);
    (void)buf_add_char(out, '\n');
}

static void put_head(struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_put_key(&w, "t");
    json_put_text(&w, "euvyra");
    json_put_key(&w, "format");
    json_put_i64(&w, EXPORT_FORMAT);
    json_end_object(&w);
    (void)buf_add_char(out, '\n');
}

/* "stamp.table.metrics.rows" */
static enum err_code take_cursor(struct str cursor, uint64_t stamp, const struct run *run,
                                 struct dump_place *ret_place, struct err *err)
{
    int64_t numbers[4] = {0};
    struct str rest = cursor, part;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        (void)str_cut(&rest, '.', &part);
        if (!str_to_i64(part, &numbers[i]) || numbers[i] < 0)
            return err_set_field(err, ERR_INVALID, "cursor",
                                 "\"%.*s\" is not a cursor of an export",
                                 (int)MIN(cursor.len, (size_t)60), cursor.data);
    }
    if ((uint64_t)numbers[0] != stamp) {
        (void)err_set(err, ERR_CONFLICT, "run %s was written to while it was exported",
                      run->public_id.text);
        err_hint(err, "begin again, best when it has ended");
        return ERR_CONFLICT;
    }
    *ret_place = (struct dump_place){(int)MIN(numbers[1], 1000), numbers[2], numbers[3]};
    return OK;
}

enum err_code runs_export(struct cmd *cmd, const struct run *run, struct str cursor,
                          struct buf *out, struct err *err)
{
    struct dump_place at = {0};
    uint64_t stamp = 0;
    bool end = false;

    TRY(dump_stamp(cmd->store, run->id, &stamp, err));
    if (cursor.len)
        TRY(take_cursor(cursor, stamp, run, &at, err));
    else
        put_head(out);
    TRY(dump_read(cmd->store, run->id, &at, EXPORT_PART_BYTES_GOAL, out, &end, err));
    put_marker(out, end ? "end" : "more",
               end ? NULL
                   : arena_printf(cmd->arena, "%llu.%d.%lld.%lld", (unsigned long long)stamp,
                                  at.table, (long long)at.metric_skip, (long long)at.skip));
    return buf_check(out, "a part of the export", err);
}

/* Where an import stands; 0 lines and no run before the first. */
static enum err_code find_import(struct cmd *cmd, project_id project,
                                 const struct import_part *part, struct dump_load *load,
                                 struct err *err)
{
    struct run run;
    enum err_code code = store_run_get(cmd->store, &part->run, cmd->arena, &run, err);

    if (code == ERR_NOT_FOUND)
        return OK;
    TRY(code);
    TRY(store_run_import_get(cmd->store, run.id, &load->line, err));
    if (run.project.v != project.v || load->line < 0) {
        (void)err_set(err, ERR_CONFLICT, "run %s exists already", part->run.text);
        err_hint(err, "euvyra import --new-ids gives the runs other ids");
        return ERR_CONFLICT;
    }
    load->run = run.id;
    return OK;
}

static enum err_code check_head(const json_t *line, struct err *err)
{
    json_int_t format = json_integer_value(json_object_get(line, "format"));

    if (format != EXPORT_FORMAT)
        return err_set(err, ERR_INVALID, "the export has format %lld, this server reads %d",
                       (long long)format, EXPORT_FORMAT);
    return OK;
}

static enum err_code take_line(struct cmd *cmd, struct dump_load *load, struct str text,
                               bool *ret_end, struct err *err)
{
    CLEANUP(json_release) json_t *line = NULL;
    const char *kind;

    if (json_parse(text, LINE_BYTES_MAX, &line, err) != OK) {
        err_prefix(err, "line %lld", (long long)load->line);
        return err ? err->code : ERR_BAD_JSON;
    }
    kind = json_string_value(json_object_get(line, "t"));
    if (*ret_end)
        return err_set(err, ERR_INVALID, "line %lld comes behind the end", (long long)load->line);
    if (load->line == 1)
        return kind && strcmp(kind, "euvyra") == 0
                   ? check_head(line, err)
                   : err_set(err, ERR_INVALID, "the first line is not that of an export");
    *ret_end = kind && strcmp(kind, "end") == 0;
    arena_reset(load->arena);
    return *ret_end ? OK : dump_write(cmd->store, load, line, err);
}

static enum err_code take_lines(struct cmd *cmd, struct dump_load *load, struct str lines,
                                bool *ret_end, struct err *err)
{
    struct str rest = lines, text;
    int count = 0;

    while (rest.len) {
        if (!str_cut(&rest, '\n', &text))
            return err_set(err, ERR_INVALID, "the part ends within line %lld",
                           (long long)load->line + 1);
        if (++count > IMPORT_LINES_MAX)
            return err_set(err, ERR_TOO_LARGE, "a part has at most %d lines", IMPORT_LINES_MAX);
        load->line++;
        TRY(take_line(cmd, load, text, ret_end, err));
    }
    return OK;
}

static enum err_code finish(struct cmd *cmd, const struct dump_load *load, struct str project_name,
                            struct err *err)
{
    TRY(store_run_import_set(cmd->store, load->run, -1, err));
    TRY(attributes_index(cmd, load->run, err));
    cmd_notice(cmd, NOTICE_RUN, load->project, project_name, &load->as);
    return audit_add(cmd, str_from(arena_printf(cmd->arena, "run %s", load->as.text)),
                     STR("run imported"), err);
}

enum err_code runs_import(struct cmd *cmd, project_id project, struct str project_name,
                          const struct import_part *part, int64_t *ret_line, bool *ret_done,
                          struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct dump_load load = {
        .arena = &arena, .project = project, .as = part->run, .owner = cmd->who->user};

    *ret_done = false;
    TRY(find_import(cmd, project, part, &load, err));
    *ret_line = load.line;
    if (part->first_line != load.line)
        return err_set(err, ERR_OFFSET, "the import of run %s goes on with line %lld",
                       part->run.text, (long long)load.line + 1);
    TRY(take_lines(cmd, &load, part->lines, ret_done, err));
    if (load.run.v == 0)
        return err_set(err, ERR_INVALID, "the first part has no line of a run");
    *ret_line = load.line;
    return *ret_done ? finish(cmd, &load, project_name, err)
                     : store_run_import_set(cmd->store, load.run, load.line, err);
}
