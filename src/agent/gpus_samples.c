/* Readings on their way to the server: a ring of an hour, so that a short outage loses none. */
#include "agent/gpus_impl.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <math.h>
#include <string.h>

static void sample_clear(struct gpu_sample *sample)
{
    mem_free(sample->gpus);
    mem_free(sample->uses);
    *sample = (struct gpu_sample){0};
}

static void drop_oldest(struct agent_gpus *gpus)
{
    sample_clear(&gpus->samples[gpus->sample_first]);
    gpus->sample_first = (gpus->sample_first + 1) % GPUS_SAMPLES_MAX;
    gpus->sample_count--;
}

void gpus__samples_free(struct agent_gpus *gpus)
{
    while (gpus->sample_count)
        drop_oldest(gpus);
}

static double value_of(const struct probe_value *values, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].name, name) == 0)
            return values[i].value;
    return (double)NAN;
}

static double known(double reading)
{
    return reading >= 0 ? reading : (double)NAN;
}

/* What every use took since the last sample; those that are over are forgotten with it. */
static void take_uses(struct agent_gpus *gpus, struct gpu_sample *sample)
{
    size_t kept = 0;

    sample->uses = mem_array(MAX(gpus->use_count, 1), sizeof sample->uses[0]);
    for (size_t i = 0; i < gpus->use_count; i++) {
        struct gpu_use *use = &gpus->uses[i];
        int64_t energy_mj = (int64_t)(use->unsent_joules * 1000);

        sample->uses[sample->use_count++] = (struct wire_sample_use){.attempt = use->attempt,
                                                                     .gpus = use->gpus,
                                                                     .energy_mj = energy_mj,
                                                                     .percent = use->percent};
        use->unsent_joules -= (double)energy_mj / 1000;
        if (use->ended_ms == 0)
            gpus->uses[kept++] = *use;
    }
    gpus->use_count = kept;
}

void gpus__sample_add(struct agent_gpus *gpus, const struct probe_value *values, size_t count,
                      int64_t now_ms)
{
    if (gpus->sample_count == GPUS_SAMPLES_MAX)
        drop_oldest(gpus);
    struct gpu_sample *sample =
        &gpus->samples[(gpus->sample_first + gpus->sample_count++) % GPUS_SAMPLES_MAX];
    double free_bytes = value_of(values, count, "disk.free_bytes");

    *sample = (struct gpu_sample){.number = ++gpus->sample_number, .at_ms = now_ms};
    sample->node[NODE_CPU] = value_of(values, count, "cpu.percent");
    sample->node[NODE_MEMORY] = value_of(values, count, "memory.used_bytes");
    sample->node[NODE_DISK] = (double)gpus->machine.disk_bytes - free_bytes;
    sample->node[NODE_LOAD] = value_of(values, count, "cpu.load1");
    sample->gpu_count = gpus->entry_count;
    sample->gpus = mem_array(MAX(gpus->entry_count, 1), sizeof sample->gpus[0]);
    for (size_t i = 0; i < gpus->entry_count; i++) {
        const struct gpu_entry *entry = &gpus->entries[i];

        sample->gpus[i][GPU_PERCENT] = known(entry->now.percent);
        sample->gpus[i][GPU_MEMORY] = known(entry->now.memory_bytes);
        sample->gpus[i][GPU_CELSIUS] = known(entry->now.celsius);
        sample->gpus[i][GPU_WATTS] = known(entry->now.watts);
    }
    take_uses(gpus, sample);
}

int64_t agent_gpus_samples_encode(struct agent_gpus *gpus, struct str boot, size_t max,
                                  struct json_writer *w)
{
    struct str uuids[GPUS_KEPT];
    struct wire_sample *list = mem_array(MIN(max, WIRE_SAMPLES_MAX), sizeof list[0]);
    struct wire_samples message = {.boot = boot, .gpus = uuids, .samples = list};
    int64_t last = 0, now_ms = clock_mono_ms();

    lock_enter(gpus->lock);
    message.gpu_count = gpus->entry_count;
    for (size_t i = 0; i < gpus->entry_count; i++)
        uuids[i] = str_from(gpus->entries[i].what.uuid);
    for (size_t i = 0; i < MIN(gpus->sample_count, MIN(max, WIRE_SAMPLES_MAX)); i++) {
        const struct gpu_sample *from = &gpus->samples[(gpus->sample_first + i) % GPUS_SAMPLES_MAX];
        struct wire_sample *to = &list[message.sample_count++];

        *to = (struct wire_sample){.number = from->number,
                                   .age_ms = MIN(now_ms - from->at_ms, WIRE_SAMPLE_AGE_MAX),
                                   .gpus = from->gpus,
                                   .gpu_count = from->gpu_count,
                                   .uses = from->uses,
                                   .use_count = from->use_count};
        memcpy(to->node, from->node, sizeof to->node);
        last = from->number;
    }
    wire_samples_encode(&message, w);
    lock_leave(gpus->lock);
    mem_free(list);
    return last;
}

void agent_gpus_samples_drop(struct agent_gpus *gpus, int64_t last)
{
    lock_enter(gpus->lock);
    while (gpus->sample_count && gpus->samples[gpus->sample_first].number <= last)
        drop_oldest(gpus);
    lock_leave(gpus->lock);
}
