/* Structured log lines. A line is built whole and written with one write(2), so that lines of
 * several threads and processes do not mix. */
#include "base/log.h"

#include "base/buf.h"
#include "base/timeval.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LOG_LINE_BYTES_MAX  4096u
#define LOG_VALUE_BYTES_MAX 512u

static _Atomic int log_threshold = LOG_INFO;
static _Atomic int log_fd = STDERR_FILENO;

void log_level_set(enum log_level level)
{
    atomic_store(&log_threshold, (int)level);
}

void log_fd_set(int fd)
{
    atomic_store(&log_fd, fd);
}

struct log_number log_number(int64_t value)
{
    struct log_number number;

    (void)snprintf(number.text, sizeof(number.text), "%" PRIi64, value);
    return number;
}

static bool needs_quotes(struct str value)
{
    if (value.len == 0)
        return true;
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] == ' ' || value.data[i] == '"' || value.data[i] == '=' ||
            value.data[i] == '\\')
            return true;
    }
    return str_has_control(value);
}

static void log_add_value(struct buf *line, struct str value)
{
    value.len = MIN(value.len, LOG_VALUE_BYTES_MAX);
    if (!needs_quotes(value)) {
        (void)buf_add_str(line, value); /* a full line is cut, see log_event */
        return;
    }
    (void)buf_add_char(line, '"');
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];

        if (c == '"' || c == '\\')
            (void)buf_printf(line, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            (void)buf_printf(line, "\\x%02x", c);
        else
            (void)buf_add_char(line, (char)c);
    }
    (void)buf_add_char(line, '"');
}

static void log_add_head(struct buf *line, enum log_level level, const char *event)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    struct timespec now;
    char at[TIME_TEXT_BYTES];

    ENSURE((size_t)level < ARRAY_LEN(names));
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    time_format((time_ms)now.tv_sec * 1000 + now.tv_nsec / 1000000, at);
    (void)buf_printf(line, "%s %s %s", at, names[level], event);
}

void log_event(enum log_level level, const char *event, ...)
{
    va_list args;
    struct buf line;

    if ((int)level < atomic_load(&log_threshold))
        return;
    buf_init(&line, LOG_LINE_BYTES_MAX);
    log_add_head(&line, level, event);
    va_start(args, event);
    for (const char *key; (key = va_arg(args, const char *)) != NULL;) {
        const char *value = va_arg(args, const char *);

        (void)buf_printf(&line, " %s=", key);
        log_add_value(&line, str_from(value ? value : "-"));
        if (!value)
            break; /* the pair was cut short by the sentinel */
    }
    va_end(args);
    line.full = false;
    if (!buf_add_char(&line, '\n'))
        line.data[line.len - 1] = '\n';
    /* Nobody can be told when the log itself cannot be written. */
    ssize_t written = write(atomic_load(&log_fd), line.data, line.len);

    (void)written;
    buf_release(&line);
}
