/* The tables of an export. A column that is missing here is lost by export and import: a test
 * compares them with the schema. */
#include "store/dump/dump_tables.h"

static const struct dump_column run_columns[] = {
    {"owner", DUMP_OWNER, false},       {"public_id", DUMP_RUN_ID, false},
    {"name", DUMP_TEXT, false},         {"state", DUMP_STATE, false},
    {"run_group", DUMP_TEXT, false},    {"job_type", DUMP_TEXT, false},
    {"host", DUMP_TEXT, false},         {"notes", DUMP_TEXT, false},
    {"tags", DUMP_JSON, false},         {"command", DUMP_JSON, false},
    {"reason", DUMP_TEXT, false},       {"exit_code", DUMP_I64, true},
    {"exit_signal", DUMP_I64, true},    {"oom", DUMP_I64, false},
    {"created_ms", DUMP_I64, false},    {"started_ms", DUMP_I64, true},
    {"ended_ms", DUMP_I64, true},       {"seen_ms", DUMP_I64, true},
    {"cost_micro", DUMP_I64, true},     {"console_bytes", DUMP_I64, false},
    {"console_final", DUMP_I64, false}, {"create_hash", DUMP_BYTES, false},
    {"job_public_id", DUMP_TEXT, true}, {"parent_public_id", DUMP_TEXT, true},
    {"parent_step", DUMP_I64, true},    {"redacted", DUMP_I64, false},
    {"stop_asked_ms", DUMP_I64, true},  {"facts_cut", DUMP_I64, false},
};
static const struct dump_column doc_columns[] = {
    {"kind", DUMP_TEXT, false},
    {"body", DUMP_JSON, false},
};
static const struct dump_column console_columns[] = {
    {"start_offset", DUMP_I64, false},
    {"end_offset", DUMP_I64, false},
    {"data", DUMP_BYTES, false},
};
static const struct dump_column file_columns[] = {
    {"path", DUMP_TEXT, false},
    {"detail", DUMP_JSON, false},
};
static const struct dump_column gone_columns[] = {
    {"writer_public_id", DUMP_TEXT, false},
    {"at_ms", DUMP_I64, false},
    {"oom", DUMP_I64, false},
};
static const struct dump_column writer_columns[] = {
    {"public_id", DUMP_WRITER_ID, false},
    {"kind", DUMP_TEXT, false},
    {"started_ms", DUMP_I64, false},
    {"committed_offset", DUMP_I64, false},
    {"committed_crc", DUMP_I64, false},
    {"applied_offset", DUMP_I64, false},
    {"compacted_offset", DUMP_I64, false},
    {"fenced", DUMP_I64, false},
    {"ended", DUMP_I64, false},
    {"host", DUMP_TEXT, false},
    {"rank_no", DUMP_I64, true},
    {"local_rank", DUMP_I64, true},
    {"world_size", DUMP_I64, true},
    {"epoch_kind", DUMP_TEXT, false},
    {"epoch_key", DUMP_TEXT, false},
    {"epoch_step", DUMP_I64, true},
    {"first_step", DUMP_I64, true},
    {"heard_ms", DUMP_I64, true},
    {"ended_ms", DUMP_I64, true},
    {"exit_code", DUMP_I64, true},
    {"exit_signal", DUMP_I64, true},
    {"oom", DUMP_I64, false},
    {"reason", DUMP_TEXT, false},
    {"preempting", DUMP_I64, false},
    {"redacted", DUMP_I64, false},
    {"console_bytes", DUMP_I64, false},
};
static const struct dump_column writer_doc_columns[] = {
    {"writer", DUMP_WRITER, false},
    {"kind", DUMP_TEXT, false},
    {"body", DUMP_JSON, false},
};
static const struct dump_column writer_console_columns[] = {
    {"writer", DUMP_WRITER, false},
    {"start_offset", DUMP_I64, false},
    {"end_offset", DUMP_I64, false},
    {"data", DUMP_BYTES, false},
};
static const struct dump_column log_columns[] = {
    {"writer", DUMP_WRITER, false},
    {"start_offset", DUMP_I64, false},
    {"end_offset", DUMP_I64, false},
    {"data", DUMP_BYTES, false},
};
static const struct dump_column record_columns[] = {
    {"writer", DUMP_WRITER, false},
    {"log_offset", DUMP_I64, false},
    {"record_type", DUMP_I64, false},
    {"payload", DUMP_BYTES, false},
};
static const struct dump_column alert_columns[] = {
    {"writer", DUMP_WRITER, true},    {"log_offset", DUMP_I64, false}, {"level", DUMP_TEXT, false},
    {"title", DUMP_TEXT, false},      {"body", DUMP_TEXT, false},      {"at_ms", DUMP_I64, false},
    {"received_ms", DUMP_I64, false},
};
static const struct dump_column name_columns[] = {
    {"writer", DUMP_WRITER, false},
    {"local_id", DUMP_I64, false},
    {"name", DUMP_METRIC, false},
    {"kind", DUMP_METRIC_KIND, false},
};
static const struct dump_column metric_columns[] = {
    {"name", DUMP_METRIC, false},     {"kind", DUMP_METRIC_KIND, false},
    {"point_count", DUMP_I64, false}, {"finite_count", DUMP_I64, false},
    {"last_step", DUMP_I64, false},   {"last_bits", DUMP_I64, false},
    {"min_bits", DUMP_I64, false},    {"max_bits", DUMP_I64, false},
    {"sum_bits", DUMP_I64, false},    {"first_bits", DUMP_I64, false},
    {"first_step", DUMP_I64, false},  {"last_at_ms", DUMP_I64, false},
    {"first_at_ms", DUMP_I64, false}, {"min_step", DUMP_I64, false},
    {"max_step", DUMP_I64, false},
};
static const struct dump_column series_columns[] = {
    {"name", DUMP_METRIC, false},    {"kind", DUMP_METRIC_KIND, false},
    {"writer", DUMP_WRITER, false},  {"point_count", DUMP_I64, false},
    {"step_min", DUMP_I64, false},   {"step_max", DUMP_I64, false},
    {"at_min_ms", DUMP_I64, false},  {"at_max_ms", DUMP_I64, false},
    {"log_offset", DUMP_I64, false}, {"tail", DUMP_BYTES, true},
};
static const struct dump_column chunk_columns[] = {
    {"name", DUMP_METRIC, false}, {"kind", DUMP_METRIC_KIND, false}, {"writer", DUMP_WRITER, false},
    {"seq", DUMP_I64, false},     {"times_of", DUMP_LENDER, true},   {"data", DUMP_BYTES, false},
};
static const struct dump_column level_columns[] = {
    {"name", DUMP_METRIC, false},   {"kind", DUMP_METRIC_KIND, false},
    {"writer", DUMP_WRITER, false}, {"level", DUMP_I64, false},
    {"seq", DUMP_I64, false},       {"times_of", DUMP_LENDER, true},
    {"data", DUMP_BYTES, false},
};

const struct dump_table dump_tables[DUMP_TABLE_COUNT] = {
    {"run", SQL_DUMP_RUN_READ, SQL_DUMP_RUN_WRITE, run_columns, ARRAY_LEN(run_columns),
     OWNED_BY_PROJECT},
    {"doc", SQL_DUMP_DOC_READ, SQL_DUMP_DOC_WRITE, doc_columns, ARRAY_LEN(doc_columns),
     OWNED_BY_RUN},
    {"console", SQL_DUMP_CONSOLE_READ, SQL_DUMP_CONSOLE_WRITE, console_columns,
     ARRAY_LEN(console_columns), OWNED_BY_RUN},
    {"file", SQL_DUMP_FILE_READ, SQL_DUMP_FILE_WRITE, file_columns, ARRAY_LEN(file_columns),
     OWNED_BY_RUN},
    {"gone", SQL_DUMP_GONE_READ, SQL_DUMP_GONE_WRITE, gone_columns, ARRAY_LEN(gone_columns),
     OWNED_BY_RUN},
    {"writer", SQL_DUMP_WRITER_READ, SQL_DUMP_WRITER_WRITE, writer_columns,
     ARRAY_LEN(writer_columns), OWNED_BY_RUN},
    {"writer_doc", SQL_DUMP_WRITER_DOC_READ, SQL_DUMP_WRITER_DOC_WRITE, writer_doc_columns,
     ARRAY_LEN(writer_doc_columns), OWNED_BY_WRITER},
    {"writer_console", SQL_DUMP_WRITER_CONSOLE_READ, SQL_DUMP_WRITER_CONSOLE_WRITE,
     writer_console_columns, ARRAY_LEN(writer_console_columns), OWNED_BY_WRITER},
    {"log", SQL_DUMP_LOG_READ, SQL_DUMP_LOG_WRITE, log_columns, ARRAY_LEN(log_columns),
     OWNED_BY_WRITER},
    {"record", SQL_DUMP_RECORD_READ, SQL_DUMP_RECORD_WRITE, record_columns,
     ARRAY_LEN(record_columns), OWNED_BY_WRITER},
    {"alert", SQL_DUMP_ALERT_READ, SQL_DUMP_ALERT_WRITE, alert_columns, ARRAY_LEN(alert_columns),
     OWNED_BY_ALL},
    {"name", SQL_DUMP_NAME_READ, SQL_DUMP_NAME_WRITE, name_columns, ARRAY_LEN(name_columns),
     OWNED_BY_WRITER},
    {"metric", SQL_DUMP_METRIC_READ, SQL_DUMP_METRIC_WRITE, metric_columns,
     ARRAY_LEN(metric_columns), OWNED_BY_METRIC},
    {"series", SQL_DUMP_SERIES_READ, SQL_DUMP_SERIES_WRITE, series_columns,
     ARRAY_LEN(series_columns), OWNED_BY_SERIES},
    {"chunk", SQL_DUMP_CHUNK_READ, SQL_DUMP_CHUNK_WRITE, chunk_columns, ARRAY_LEN(chunk_columns),
     OWNED_BY_SERIES},
    {"level", SQL_DUMP_LEVEL_READ, SQL_DUMP_LEVEL_WRITE, level_columns, ARRAY_LEN(level_columns),
     OWNED_BY_SERIES},
};
