/* What the writers of a run said of it, one by one: documents, console text, processes that are
 * gone. The run's own row and documents are worked out from these. thread: owner of the store;
 * may block */
#pragma once

#include "base/buf.h"
#include "model/run.h"
#include "store/store.h"

/* JSON text; `{0}` when there is none. */
MUST_CHECK enum err_code store_writer_doc_get(struct store *store, writer_id writer,
                                              enum writer_doc kind, struct arena *arena,
                                              struct str *ret_body, struct err *err);
MUST_CHECK enum err_code store_writer_doc_set(struct store *store, writer_id writer,
                                              enum writer_doc kind, struct str body,
                                              struct err *err);
/* Of all writers of the run that are not fenced, in their order. */
MUST_CHECK enum err_code store_writer_doc_list(struct store *store, run_id run,
                                               enum writer_doc kind, int limit, struct arena *arena,
                                               struct str **ret_bodies, size_t *ret_count,
                                               struct err *err);
/* Which writers of the run have such a document, of at most `chars_max` characters; by id. */
struct writer_doc_filter {
    enum writer_doc kind;
    int64_t chars_max;
    int limit;
};
MUST_CHECK enum err_code store_writer_doc_writers(struct store *store, run_id run,
                                                  const struct writer_doc_filter *filter,
                                                  struct arena *arena, writer_id **ret_writers,
                                                  size_t *ret_count, struct err *err);
/* True when no writer behind `writer` in that order has such a document. */
MUST_CHECK enum err_code store_writer_doc_is_last(struct store *store, const struct writer *writer,
                                                  enum writer_doc kind, bool *ret_last,
                                                  struct err *err);

/* The first word about a writer stays, whoever brings it when. */
MUST_CHECK enum err_code store_writer_gone_set(struct store *store, run_id run,
                                               const struct writer_gone *gone, struct err *err);
/* By writer id. */
MUST_CHECK enum err_code store_writer_gone_list(struct store *store, run_id run, int limit,
                                                struct arena *arena, struct writer_gone **ret_gone,
                                                size_t *ret_count, struct err *err);

/* Adds text at the end and moves writer->console_bytes; store_writer_applied saves that. */
MUST_CHECK enum err_code store_writer_console_append(struct store *store, struct writer *writer,
                                                     struct str text, struct err *err);
/* As store_console_read, of one writer. */
MUST_CHECK enum err_code store_writer_console_read(struct store *store, writer_id writer,
                                                   int64_t offset, int64_t bytes_max,
                                                   struct buf *out, struct err *err);
