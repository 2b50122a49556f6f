/* The tables that a run is made of, as euvyra export and import see them: the name of a line, its
 * columns in order, the statements that read and write it. Folder-private. thread: any (constants)
 */
#pragma once

#include "base/macros.h"
#include "gen/sql_statements.h"

enum dump_kind {
    DUMP_I64,
    DUMP_TEXT,
    DUMP_JSON, /* text that must be JSON: it is shown as it is */
    DUMP_BYTES,
    DUMP_RUN_ID,    /* of the run itself; an import may give another */
    DUMP_WRITER_ID, /* of a writer itself */
    DUMP_STATE,
    DUMP_OWNER,       /* a login; the importer where there is no such user */
    DUMP_WRITER,      /* the writer that a row belongs to */
    DUMP_METRIC,      /* the metric that a row belongs to: its name */
    DUMP_METRIC_KIND, /* and its kind */
    DUMP_LENDER,      /* another metric of that kind: its name */
};

struct dump_column {
    const char *name;
    enum dump_kind kind;
    bool may_be_null;
};

/* Which ids of its own the writing statement wants. */
enum dump_owner {
    OWNED_BY_PROJECT, /* the run: project_id, owner_id */
    OWNED_BY_RUN,     /* run_id */
    OWNED_BY_WRITER,  /* writer_id, and metric_id where the row names one */
    OWNED_BY_METRIC,  /* run_id, metric_id; name and kind are columns too */
    OWNED_BY_SERIES,  /* run_id, metric_id, writer_id */
    OWNED_BY_ALL,     /* project_id, run_id, writer_id */
};

struct dump_table {
    const char *name;
    enum sql_id read, write;
    const struct dump_column *columns;
    size_t column_count;
    enum dump_owner owner;
};

/* In the order of an export; those of metrics come metric by metric. */
enum {
    DUMP_TABLE_RUN,
    DUMP_TABLE_DOC,
    DUMP_TABLE_CONSOLE,
    DUMP_TABLE_FILE,
    DUMP_TABLE_GONE,
    DUMP_TABLE_WRITER,
    DUMP_TABLE_WRITER_DOC,
    DUMP_TABLE_WRITER_CONSOLE,
    DUMP_TABLE_LOG,
    DUMP_TABLE_RECORD,
    DUMP_TABLE_ALERT,
    DUMP_TABLE_NAME,
    DUMP_TABLE_METRIC,
    DUMP_TABLE_SERIES,
    DUMP_TABLE_CHUNK,
    DUMP_TABLE_LEVEL,
    DUMP_TABLE_COUNT
};
extern const struct dump_table dump_tables[DUMP_TABLE_COUNT];
