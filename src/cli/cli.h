/* The command line: one table of verbs and options, from which parsing, help, completion and man
 * pages come. thread: main */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "net/http_client.h"

#define EXIT_OWN_FAILURE  125 /* of launch and exec, so that a job's own code stays clear */
#define OPTION_VALUES_MAX 512

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER };

struct option_spec {
    const char *name;
    enum option_kind kind;
    bool many;         /* may be given several times */
    const char *value; /* name of the value in help: "DIR"; NULL for flags */
    const char *help;
    int64_t min, max; /* of numbers */
};

struct cli;
struct verb {
    const char *name;      /* "launch", "agents add" */
    const char *arguments; /* "JOB", "-- COMMAND..." or "" */
    const char *summary;   /* one line */
    const char *details;   /* more, for help and the man page; NULL: none */
    const struct option_spec *options;
    size_t option_count;
    int args_min, args_max; /* -1: any number */
    bool needs_server;
    bool own_exit; /* failures of ours exit with 125 */
    enum err_code (*run)(struct cli *cli, int *ret_exit, struct err *err);
};

struct option_value {
    const struct option_spec *spec;
    const char *text;
    int64_t number;
};

struct cli {
    const struct verb *verb;
    struct option_value values[OPTION_VALUES_MAX];
    size_t value_count;
    const char **args; /* what is no option, NULL-terminated */
    int arg_count;
    const char *server; /* URL; never NULL once set up */
    bool server_given;  /* by option, environment or login: not the default */
    const char *key;    /* NULL: none */
    const char *ca_file;
    struct http_client *client;
    struct arena arena;
};

/* All verbs, in the order of help. */
extern const struct verb cli_verbs[];
extern const size_t cli_verb_count;

/* Finds the verb and takes options and arguments apart. "--help" gives the verb with
 * *ret_help set. ERR_INVALID names the option. */
MUST_CHECK enum err_code cli_parse(struct cli *cli, int argc, const char **argv, bool *ret_help,
                                   struct err *err);
bool cli_flag(const struct cli *cli, const char *name);
const char *cli_text(const struct cli *cli, const char *name); /* the last one; NULL: not given */
int64_t cli_number(const struct cli *cli, const char *name, int64_t otherwise);
/* The nth value of an option that may be given several times; NULL at the end. */
const char *cli_text_at(const struct cli *cli, const char *name, size_t n);

/* Help: of everything (verb NULL) or of one verb. */
void cli_help(const struct verb *verb);
void cli_completion_bash(void);
void cli_man(const struct verb *verb);

/* Server and key: from options, EUVYRA_SERVER and EUVYRA_API_KEY(_FILE), or what login kept. */
MUST_CHECK enum err_code cli_config_load(struct cli *cli, struct err *err);
MUST_CHECK enum err_code cli_config_save(struct cli *cli, const char *server, const char *key,
                                         struct err *err);
/* A project: --project, EUVYRA_PROJECT. ERR_INVALID when there is none. */
MUST_CHECK enum err_code cli_project(const struct cli *cli, const char **ret_project,
                                     struct err *err);

/* Makes cli->client, for those who do more than cli_call. */
MUST_CHECK enum err_code cli_connect(struct cli *cli, struct err *err);
/* One call of the API. The path is made by arena_printf; ids and names in it are checked by
 * cli_path_part first. *ret_json (may be NULL) lives in the caller: json_release. */
MUST_CHECK enum err_code cli_call(struct cli *cli, const char *method, const char *path,
                                  const json_t *body, json_t **ret_json, struct err *err);
/* Whether a failure may pass by itself: no connection, a server that restarts or is busy.
 * *away_since_ms is 0 while all is well; it is told once, and given up after an hour. Waits a
 * moment when it says true. */
bool cli_try_again(enum err_code code, const struct err *err, int64_t *away_since_ms);
/* Refuses text that would change the path of a URL. */
MUST_CHECK enum err_code cli_path_part(const char *what, const char *text, struct err *err);
/* Percent-encoded for a query. */
const char *cli_encoded(struct cli *cli, const char *text);
/* All pages of a list, at most items_max, as one array. */
MUST_CHECK enum err_code cli_list(struct cli *cli, const char *path, size_t items_max,
                                  json_t **ret_items, struct err *err);

/* JSON members as text; "" when absent. */
const char *cli_get(const json_t *object, const char *name);
int64_t cli_get_i64(const json_t *object, const char *name, int64_t otherwise);
/* A number, text or flag as one short text in the arena. */
const char *cli_value(struct cli *cli, const json_t *value);
void cli_print_json(const json_t *value);

#define TABLE_COLUMNS_MAX 64
/* Columns of text, aligned; control bytes become '?'. */
struct table {
    struct arena *arena;
    const char *const *heads;
    size_t column_count;
    const char **cells;
    size_t cell_count, cell_room;
};
void table_init(struct table *table, struct arena *arena, const char *const *heads,
                size_t column_count);
void table_add(struct table *table, const char *cell);
void table_print(const struct table *table);
const char *cli_duration(struct cli *cli, int64_t ms);
const char *cli_money(struct cli *cli, int64_t micro, const char *currency);
/* "2026-11-30 04:05" in local time from RFC 3339; "" for none. */
const char *cli_when(struct cli *cli, const char *rfc3339);

/* The verbs, by file. */
enum err_code cmd_login(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_projects(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_projects_create(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_projects_set(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_agents(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_agents_show(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_agents_maintenance(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_agents_service(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_agents_clear(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_agents_add(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_targets(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_targets_set(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_launch(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_jobs(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_job(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_cancel(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_release(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_hold(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_job_why(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_priority(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_job_set(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_teams(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_quota(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_budget(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_queues(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_secrets(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_secrets_set(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_secrets_delete(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_maintenance(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_maintenance_end(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_logs(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_runs(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_run(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_stop(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_alerts(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_export(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_import(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_exec(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_sync(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_version(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_completion(struct cli *cli, int *ret_exit, struct err *err);
enum err_code cmd_man(struct cli *cli, int *ret_exit, struct err *err);

/* Shared by launch and logs: copies console text of a run to stdout from *offset on; *ret_final:
 * no more will come. */
/* What the start of its newest attempt does now, such as "pulling: 412 of 1,300 MB"; "". */
const char *cli_job_progress(const json_t *job);
/* Lines on what a job used: image, run time, GPU hours, energy, cost. */
void cli_print_use(struct cli *cli, const json_t *job, const char *currency);
/* Why a job waits: lines of `euvyra job why`. */
void cli_print_waiting(struct cli *cli, const json_t *waiting);
MUST_CHECK enum err_code cli_copy_console(struct cli *cli, const char *run, int64_t *offset,
                                          bool *ret_final, struct err *err);
/* The values of --target as the member `targets`; nothing when there are none. */
MUST_CHECK enum err_code cli_targets(struct cli *cli, json_t *object, struct err *err);
/* What launch submits, from file or run, options and command. */
MUST_CHECK enum err_code cli_launch_body(struct cli *cli, json_t **ret_body, struct err *err);
/* The file of --file as it is. ERR_INVALID: it is no job. */
MUST_CHECK enum err_code cli_job_file(struct cli *cli, json_t **ret_body, struct err *err);
/* What the file of --file says of a command that runs here goes into the options, under what they
 * have already. */
struct exec_options; /* sync/exec.h */
MUST_CHECK enum err_code cli_exec_file(struct cli *cli, struct exec_options *options,
                                       struct err *err);
/* "" when a run recorded no commit. */
const char *cli_run_commit(const json_t *run);
/* A work tree of the run's commit with its changes; *ret_folder is set as soon as there is one, and
 * cli_checkout_remove ends it (NULL: nothing). ERR_INVALID: the repository here does not have it.
 */
MUST_CHECK enum err_code cli_checkout_run(struct cli *cli, const json_t *run,
                                          const char **ret_folder, struct err *err);
void cli_checkout_remove(const char *folder);
/* Packs the folder `root` for a job into a temporary file. *ret_files: how many. */
MUST_CHECK enum err_code cli_pack_folder(struct cli *cli, const char *root, int *ret_fd,
                                         int64_t *ret_bytes, int64_t *ret_files, struct err *err);
