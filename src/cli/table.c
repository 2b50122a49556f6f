/* Tables, durations, money and times as text. */
#include "base/timeval.h"
#include "cli/cli.h"

#include <stdio.h>
#include <time.h>

#define CELL_COLUMNS_MAX 60

void table_init(struct table *table, struct arena *arena, const char *const *heads,
                size_t column_count)
{
    *table = (struct table){.arena = arena, .heads = heads, .column_count = column_count};
}

/* What a terminal shows; control bytes must not steer it. */
static const char *clean(struct arena *arena, const char *text)
{
    char *copy = arena_text(arena, str_from(text));

    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return copy;
}

void table_add(struct table *t, const char *cell)
{
    t->cells = arena_more(t->arena, t->cells, t->cell_count, &t->cell_room, sizeof *t->cells);
    t->cells[t->cell_count++] = clean(t->arena, cell);
}

/* Characters, not bytes: continuation bytes of UTF-8 take no column. */
static int columns(const char *text)
{
    int count = 0;

    for (const char *c = text; *c; c++)
        count += ((unsigned char)*c & 0xc0) != 0x80;
    return count;
}

static void print_cell(const char *text, int width, bool last)
{
    int have = columns(text);

    fputs(text, stdout);
    for (; !last && have < width + 2; have++)
        putchar(' ');
}

void table_print(const struct table *t)
{
    int widths[TABLE_COLUMNS_MAX] = {0};

    ENSURE(t->column_count <= ARRAY_LEN(widths) && t->cell_count % t->column_count == 0);
    for (size_t i = 0; i < t->column_count; i++)
        widths[i] = columns(t->heads[i]);
    for (size_t i = 0; i < t->cell_count; i++)
        widths[i % t->column_count] =
            MAX(widths[i % t->column_count], MIN(columns(t->cells[i]), CELL_COLUMNS_MAX));
    for (size_t i = 0; i < t->column_count; i++)
        print_cell(t->heads[i], widths[i], i + 1 == t->column_count);
    putchar('\n');
    for (size_t i = 0; i < t->cell_count; i++) {
        bool last = (i + 1) % t->column_count == 0;
        print_cell(t->cells[i], widths[i % t->column_count], last);
        if (last)
            putchar('\n');
    }
}

const char *cli_duration(struct cli *cli, int64_t ms)
{
    char text[DURATION_TEXT_BYTES];

    duration_format(ms, text);
    return arena_printf(&cli->arena, "%s", text);
}

const char *cli_money(struct cli *cli, int64_t micro, const char *currency)
{
    return arena_printf(&cli->arena, "%lld.%04lld %s", (long long)(micro / 1000000),
                        (long long)(micro % 1000000 / 100), currency);
}

const char *cli_when(struct cli *cli, const char *rfc3339)
{
    char text[32];
    struct tm local;
    time_ms at;
    time_t seconds;

    if (!time_parse(str_from(rfc3339), &at))
        return "";
    seconds = at / 1000;
    if (!localtime_r(&seconds, &local) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local))
        return "";
    return arena_printf(&cli->arena, "%s", text);
}
