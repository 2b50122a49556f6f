/* Statements of sql/statements/alert.sql as typed functions. */
#include "store/store_alert.h"

#include "store/db.h"

enum err_code store_alert_insert(struct store *store, const struct alert_place *place,
                                 const struct alert *alert, struct err *err)
{
    return db__run(store->db, SQL_ALERT_INSERT,
                   ARGS(ARG_I64("project_id", place->project.v), ARG_I64("run_id", place->run.v),
                        ARG_REF("writer_id", place->writer.v), ARG_I64("log_offset", place->offset),
                        ARG_TEXT("level", str_from(alert_level_name(alert->level))),
                        ARG_TEXT("title", alert->title), ARG_TEXT("body", alert->text),
                        ARG_I64("at_ms", alert->at), ARG_I64("received_ms", alert->received)),
                   NULL, err);
}

enum err_code store_alert_list(struct store *store, const struct alert_filter *filter,
                               struct arena *arena, struct alert **ret_alerts, size_t *ret_count,
                               struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct alert *alerts = arena_array(arena, (size_t)filter->limit, sizeof *alerts);
    int64_t before = filter->before_id ? filter->before_id : INT64_MAX;
    size_t count = 0;
    bool row = false;

    if (filter->run.v)
        TRY(db__query(store->db, SQL_ALERT_LIST_OF_RUN,
                      ARGS(ARG_I64("run_id", filter->run.v), ARG_I64("before_id", before),
                           ARG_I64("limit", filter->limit)),
                      &r, err));
    else
        TRY(db__query(store->db, SQL_ALERT_LIST,
                      ARGS(ARG_I64("project_id", filter->project.v), ARG_I64("before_id", before),
                           ARG_I64("limit", filter->limit)),
                      &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        alerts[count++] = (struct alert){
            .id = db__i64(&r, 0),
            .run = db__id(&r, 1),
            .run_name = db__text(&r, 2, arena),
            .level = alert_level_from_name(db__view(&r, 3)),
            .title = db__text(&r, 4, arena),
            .text = db__text(&r, 5, arena),
            .at = db__i64(&r, 6),
            .received = db__i64(&r, 7),
        };
    *ret_alerts = alerts;
    *ret_count = count;
    return OK;
}
