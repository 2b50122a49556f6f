/* Answers to chart queries, as JSON and as columns. thread: any */
#pragma once

#include "domain/metrics/metrics.h"
#include "http/http_call.h"

#define HTTP_COLUMNS_TYPE "application/vnd.euvyra.columns"

void http_render_answer(struct json_writer *w, const struct metric_query *query,
                        const struct metric_answer *answer);
/* The binary form: the JSON without the columns, then the columns as float64. */
void http_render_columns(struct buf *out, const struct metric_query *query,
                         const struct metric_answer *answer);
void http_render_points(struct json_writer *w, struct str metric, const struct metric_page *page);
