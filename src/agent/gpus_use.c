/* What attempts take of their GPUs: energy, and how long they leave them idle. */
#include "agent/gpus_impl.h"
#include "sys/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ANEW_MS    50
#define ANEW_TRIES 50

static struct gpu_use *find_use(struct agent_gpus *gpus, const struct id *attempt)
{
    for (size_t i = 0; i < gpus->use_count; i++)
        if (str_eq(id_str(&gpus->uses[i].attempt), id_str(attempt)))
            return &gpus->uses[i];
    return NULL;
}

static uint64_t entries_of(const struct agent_gpus *gpus, const char *const *uuids, size_t count)
{
    uint64_t found = 0;

    for (size_t i = 0; i < gpus->entry_count; i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(gpus->entries[i].what.uuid, uuids[k]) == 0)
                found |= UINT64_C(1) << i;
    return found;
}

void agent_gpus_use(struct agent_gpus *gpus, const struct id *attempt, const char *const *uuids,
                    size_t count)
{
    lock_enter(gpus->lock);
    if (!find_use(gpus, attempt) && gpus->use_count < GPUS_KEPT) {
        struct gpu_use *use = &gpus->uses[gpus->use_count++];

        *use = (struct gpu_use){.attempt = *attempt,
                                .gpus = entries_of(gpus, uuids, count),
                                .began_ms = clock_mono_ms(),
                                .percent = (double)NAN};
        for (size_t i = 0; i < gpus->entry_count; i++)
            if (use->gpus >> i & 1)
                gpus->entries[i].used_by[0] = '\0'; /* seen before it was ours: looked at again */
    }
    lock_leave(gpus->lock);
}

void agent_gpus_release(struct agent_gpus *gpus, const struct id *attempt)
{
    lock_enter(gpus->lock);
    struct gpu_use *use = find_use(gpus, attempt);
    if (use && use->ended_ms == 0)
        use->ended_ms = clock_mono_ms(); /* the next reading charges the rest and forgets it */
    lock_leave(gpus->lock);
}

bool agent_gpus_energy(struct agent_gpus *gpus, const struct id *attempt, double *ret_joules,
                       double *ret_idle_s)
{
    bool known = false;

    lock_enter(gpus->lock);
    const struct gpu_use *use = find_use(gpus, attempt);
    if (use && use->energy_known) {
        *ret_joules = use->joules;
        *ret_idle_s =
            use->idle_since_ms ? (double)(gpus->read_ms - use->idle_since_ms) / 1000.0 : 0;
        known = true;
    }
    lock_leave(gpus->lock);
    return known;
}

/* Joules that a GPU took between its last two readings; below 0: not known. The counter counts
 * where there is one and it did not begin anew; else the mean of the two powers. */
static double joules_of(const struct gpu_entry *entry, double seconds)
{
    const struct nvml_reading *now = &entry->now, *before = &entry->before;

    if (now->energy_j >= 0 && before->energy_j >= 0 && now->energy_j >= before->energy_j)
        return now->energy_j - before->energy_j;
    if (now->watts >= 0 && before->watts >= 0)
        return (now->watts + before->watts) / 2 * seconds;
    return now->watts >= 0 ? now->watts * seconds : -1;
}

static void charge(struct agent_gpus *gpus, struct gpu_use *use, int64_t now_ms)
{
    int64_t from = MAX(gpus->read_ms, use->began_ms), to = use->ended_ms ? use->ended_ms : now_ms;
    double span = (double)(now_ms - gpus->read_ms), busiest = (double)NAN;
    bool silent = false; /* what cannot tell may be busy */

    for (size_t i = 0; i < gpus->entry_count; i++) {
        const struct gpu_entry *entry = &gpus->entries[i];

        if (!(use->gpus >> i & 1))
            continue;
        double joules = joules_of(entry, span / 1000);
        if (gpus->read_ms && joules >= 0 && to > from && span > 0) {
            use->joules += joules * (double)(to - from) / span;
            use->unsent_joules += joules * (double)(to - from) / span;
            use->energy_known = true;
        }
        silent |= entry->now.percent < 0;
        if (entry->now.percent >= 0 && !(entry->now.percent <= busiest))
            busiest = entry->now.percent;
    }
    if (silent && busiest < GPUS_IDLE_PERCENT)
        busiest = (double)NAN;
    use->percent = busiest;
    if (!(busiest < GPUS_IDLE_PERCENT))
        use->idle_since_ms = 0;
    else if (!use->idle_since_ms)
        use->idle_since_ms = now_ms;
}

void gpus__charge(struct agent_gpus *gpus, int64_t now_ms)
{
    for (size_t i = 0; i < gpus->use_count; i++)
        charge(gpus, &gpus->uses[i], now_ms);
}

static int64_t number_now(struct agent_gpus *gpus)
{
    int64_t number;

    lock_enter(gpus->lock);
    number = gpus->sample_number;
    lock_leave(gpus->lock);
    return number;
}

/* A reading that began after now: the one that is being made may be older. */
static void read_anew(struct agent_gpus *gpus)
{
    for (int i = 0; i < 2; i++) {
        int64_t before = number_now(gpus);

        (void)queue_push(gpus->wake, gpus); /* full: it is woken anyway */
        for (int k = 0; k < ANEW_TRIES && number_now(gpus) == before; k++)
            (void)queue_pop(gpus->never, ANEW_MS);
    }
}

bool agent_gpus_failed(struct agent_gpus *gpus, const struct id *attempt,
                       char ret_reason[AGENT_GPUS_REASON_BYTES])
{
    bool failed = false;

    read_anew(gpus);
    lock_enter(gpus->lock);
    const struct gpu_use *use = find_use(gpus, attempt);
    for (size_t i = 0; use && i < gpus->entry_count && !failed; i++) {
        const struct gpu_entry *entry = &gpus->entries[i];

        if (!(use->gpus >> i & 1) || !entry->ill[0])
            continue;
        failed = true;
        (void)snprintf(ret_reason, AGENT_GPUS_REASON_BYTES, "%.90s: %.150s", entry->what.uuid,
                       entry->ill);
    }
    lock_leave(gpus->lock);
    return failed;
}
