/* euvyra-sim scenario: plays the stories, or lists the reports they come from. */
#include "sim/commands.h"
#include "sim/scenario.h"

#include <getopt.h>
#include <stdio.h>

struct table {
    const struct scenario_entry *entries;
    size_t count;
};

static void take_tables(struct table ret_tables[4])
{
    ret_tables[0] = (struct table){scenarios_quota, scenario_quota_count};
    ret_tables[1] = (struct table){scenarios_order, scenario_order_count};
    ret_tables[2] = (struct table){scenarios_victims, scenario_victim_count};
    ret_tables[3] = (struct table){scenarios_faults, scenario_fault_count};
}

static bool play(const struct scenario_entry *entry, uint64_t seed, bool log)
{
    struct scenario *s = &(struct scenario){.seed = seed, .log = log};
    bool held;

    entry->play(s);
    held = s->failure[0] == '\0';
    (void)printf("%s %d %s%s%s\n", held ? "ok  " : "FAIL", entry->report, entry->name,
                 held ? "" : ": ", s->failure);
    if (!held)
        (void)printf("  again: euvyra-sim scenario %s --seed %llu --log\n", entry->name,
                     (unsigned long long)seed);
    sim_free(s->sim);
    sim_world_release(&s->world);
    return held;
}

static void list(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct scenario_entry *e = &table->entries[i];

        if (e->name)
            (void)printf("%2d  %-48s %s\n", e->report, e->name, e->holds);
        else
            (void)printf("%2d  -  not shown: %s\n", e->report, e->holds);
    }
}

struct asked {
    const char *name;
    int64_t seed;
    bool log;
};

static enum err_code parse(int argc, char **argv, struct asked *asked, struct err *err)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'}, {"log", no_argument, NULL, 'l'}, {0}};
    int c;

    *asked = (struct asked){.seed = 1};
    opterr = 0;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 's': TRY(cmd_number("--seed", optarg, 0, INT64_MAX, &asked->seed, err)); break;
        case 'l': asked->log = true; break;
        default:
            return err_set(err, ERR_INVALID, "option \"%.60s\" is unknown or lacks its value",
                           argv[optind - 1]);
        }
    }
    if (optind + 1 != argc)
        return err_set(err, ERR_INVALID, "scenario needs one name, or all, or list");
    asked->name = argv[optind];
    return OK;
}

int cmd_scenario(int argc, char **argv)
{
    struct table tables[4];
    struct asked asked;
    struct err err;
    size_t played = 0, failed = 0;

    if (parse(argc, argv, &asked, &err) != OK)
        return cmd_fail(&err);
    take_tables(tables);
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        if (strcmp(asked.name, "list") == 0)
            list(&tables[t]);
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct scenario_entry *e = &tables[t].entries[i];

            if (!e->name || (strcmp(asked.name, "all") != 0 && strcmp(asked.name, e->name) != 0))
                continue;
            played++;
            failed += !play(e, (uint64_t)asked.seed, asked.log);
        }
    }
    if (strcmp(asked.name, "list") == 0)
        return 0;
    if (played == 0) {
        (void)err_set(&err, ERR_NOT_FOUND, "scenario \"%.60s\" is not known", asked.name);
        err_hint(&err, "euvyra-sim scenario list");
        return cmd_fail(&err);
    }
    (void)printf("%zu scenarios, %zu failed\n", played, failed);
    return failed ? 1 : 0;
}
