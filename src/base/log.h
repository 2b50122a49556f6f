/* Structured log lines: an event name and key=value pairs, one line each.
 *     log_warn("lease.lost", "job", id.text, "node", node);
 * Keys and values are C strings, in pairs; log_i64 formats a number. Values with spaces are quoted,
 * control bytes escaped, 512 bytes a value at most. Only http, server, agent, sync and cli log.
 * Never secrets, never user payloads. thread: any */
#pragma once

#include "base/macros.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_number {
    char text[24];
};

void log_level_set(enum log_level level); /* LOG_INFO at start */
void log_fd_set(int fd);                  /* stderr at start */
void log_event(enum log_level level, const char *event, ...) __attribute__((sentinel));
struct log_number log_number(int64_t value);

#define log_debug(...) log_event(LOG_DEBUG, __VA_ARGS__, (char *)0)
#define log_info(...)  log_event(LOG_INFO, __VA_ARGS__, (char *)0)
#define log_warn(...)  log_event(LOG_WARN, __VA_ARGS__, (char *)0)
#define log_error(...) log_event(LOG_ERROR, __VA_ARGS__, (char *)0)
#define LOG_I64(value) (log_number(value).text)
