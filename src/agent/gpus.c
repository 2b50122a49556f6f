/* Reading the GPUs. Everything is asked without the lock, because a driver may take its time, and
 * then put into the entries at once. An entry stays where it is for good: a GPU that falls off the
 * bus and comes back is the same one, by its UUID. */
#include "agent/gpus_impl.h"
#include "base/log.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PERIOD_MS     10000
#define STALE_MS      60000 /* a driver that hangs so long has GPUs that cannot be trusted */
#define REOPEN_EVERY  6     /* readings: while a GPU is lost, it is looked for anew */
#define STALE_REASON  "the driver does not answer"
#define NAMELESS      "at-index-" /* what stands in for a UUID */
#define ABSENT_REASON "the driver does not name it any more"

/* One reading of all GPUs that the driver names. */
struct look {
    int count;
    struct {
        struct probe_gpu what;
        struct nvml_reading reading;
        unsigned long long xid;
        struct nvml_process processes[NVML_PROCESSES_MAX];
        int process_count;
        char used_by[WIRE_GPU_REASON_MAX + 1];
    } gpus[PROBE_GPUS_MAX];
};

static struct gpu_entry *find_entry(struct agent_gpus *gpus, const char *uuid)
{
    for (size_t i = 0; i < gpus->entry_count; i++)
        if (strcmp(gpus->entries[i].what.uuid, uuid) == 0)
            return &gpus->entries[i];
    return NULL;
}

static bool any_lost(struct agent_gpus *gpus)
{
    bool lost = false;

    lock_enter(gpus->lock);
    for (size_t i = 0; i < gpus->entry_count; i++)
        lost |= gpus->entries[i].now.lost || !gpus->entries[i].present;
    lock_leave(gpus->lock);
    return lost;
}

static void open_library(struct agent_gpus *gpus)
{
    if (gpus->nvml && gpus->readings % REOPEN_EVERY == REOPEN_EVERY - 1 && any_lost(gpus)) {
        nvml_close(gpus->nvml);
        gpus->nvml = NULL;
    }
    if (gpus->nvml)
        return;
    gpus->nvml = nvml_open_path(gpus->nvml_path);
    if (!gpus->nvml)
        return;
    char driver[sizeof gpus->machine.driver], cuda[sizeof gpus->machine.cuda];
    nvml_driver_version(gpus->nvml, driver, sizeof driver);
    nvml_cuda_version(gpus->nvml, cuda, sizeof cuda);
    lock_enter(gpus->lock);
    if (strcmp(gpus->machine.driver, driver) != 0)
        gpus->version++;
    memcpy(gpus->machine.driver, driver, sizeof driver);
    memcpy(gpus->machine.cuda, cuda, sizeof cuda);
    lock_leave(gpus->lock);
}

/* A GPU that does not even tell its UUID is the one that was at its place, if any was. */
static void name_nameless(struct agent_gpus *gpus, struct probe_gpu *gpu, int index)
{
    if (gpu->uuid[0])
        return;
    lock_enter(gpus->lock);
    if ((size_t)index < gpus->entry_count && gpus->entries[index].what.uuid[0])
        *gpu = gpus->entries[index].what;
    else
        (void)snprintf(gpu->uuid, sizeof gpu->uuid, NAMELESS "%d", index);
    lock_leave(gpus->lock);
}

static void ask(struct agent_gpus *gpus, struct look *look)
{
    unsigned long long xid;
    int index;

    look->count = gpus->nvml ? MIN(nvml_gpu_count(gpus->nvml), PROBE_GPUS_MAX) : 0;
    for (int i = 0; i < look->count; i++) {
        nvml_gpu_describe(gpus->nvml, i, &look->gpus[i].what);
        nvml_gpu_read(gpus->nvml, i, &look->gpus[i].reading);
        look->gpus[i].process_count = nvml_gpu_processes(gpus->nvml, i, look->gpus[i].processes);
        name_nameless(gpus, &look->gpus[i].what, i);
    }
    while (gpus->nvml && nvml_next_xid(gpus->nvml, &index, &xid))
        if (index < look->count && !probe_xid_is_grave(look->gpus[index].xid))
            look->gpus[index].xid = xid;
}

/* Who uses them beside our attempts. */
static void ask_whose(struct agent_gpus *gpus, struct look *look)
{
    struct gpu_owner owners[GPUS_KEPT];
    int places[PROBE_GPUS_MAX];
    size_t owner_count;

    lock_enter(gpus->lock);
    owner_count = gpus->use_count;
    for (size_t i = 0; i < owner_count; i++)
        owners[i] = (struct gpu_owner){gpus->uses[i].attempt, gpus->uses[i].gpus};
    for (int i = 0; i < look->count; i++) {
        const struct gpu_entry *entry = find_entry(gpus, look->gpus[i].what.uuid);
        places[i] = entry ? (int)(entry - gpus->entries) : GPUS_KEPT - 1;
    }
    lock_leave(gpus->lock);
    for (int i = 0; i < look->count; i++)
        gpus__foreign(look->gpus[i].processes, look->gpus[i].process_count, places[i], owners,
                      owner_count, look->gpus[i].used_by);
}

static void log_change(const struct gpu_entry *entry, const char *ill_before,
                       const char *used_before)
{
    if (strcmp(entry->ill, ill_before) != 0 && entry->ill[0])
        log_warn("gpu.ill", "gpu", entry->what.uuid, "reason", entry->ill);
    else if (strcmp(entry->ill, ill_before) != 0)
        log_info("gpu.well", "gpu", entry->what.uuid);
    if (strcmp(entry->used_by, used_before) != 0)
        log_info("gpu.used_by_others", "gpu", entry->what.uuid, "by",
                 entry->used_by[0] ? entry->used_by : "nobody");
}

/* The UUID stays untouched: others hold pointers to it. What a lost GPU was stays known, and a size
 * that wobbles with the machine's memory is no change. */
static void update_what(struct probe_gpu *known, const struct probe_gpu *what)
{
    if (!what->name[0])
        return;
    if (known->memory_kind != GPU_MEMORY_UNIFIED || what->memory_kind != GPU_MEMORY_UNIFIED)
        known->memory_bytes = what->memory_bytes;
    memcpy(known->name, what->name, sizeof known->name);
    memcpy(known->bus_id, what->bus_id, sizeof known->bus_id);
    known->memory_kind = what->memory_kind;
    known->mig = what->mig;
}

static bool is_nameless(const struct gpu_entry *entry)
{
    return strncmp(entry->what.uuid, NAMELESS, sizeof NAMELESS - 1) == 0;
}

/* What was lost answers again, or its counter, which a reset sets to 0, began anew. */
static bool was_reset(const struct gpu_entry *before, const struct nvml_reading *now)
{
    bool came_back = before->now.lost && !now->lost && !now->silent;

    return came_back || (now->energy_j >= 0 && now->energy_j < before->now.energy_j);
}

static bool update_entry(struct gpu_entry *entry, const struct look *look, int i)
{
    struct gpu_entry before = *entry;

    if (was_reset(&before, &look->gpus[i].reading))
        entry->xid = 0;
    if (look->gpus[i].xid && !probe_xid_is_grave(entry->xid))
        entry->xid = look->gpus[i].xid;
    update_what(&entry->what, &look->gpus[i].what);
    probe_gpu_type(entry->what.name, entry->type, sizeof entry->type);
    entry->present = true;
    entry->before = before.now;
    entry->now = look->gpus[i].reading;
    if (probe_gpu_is_well(&entry->now, entry->xid, entry->ill) && is_nameless(entry))
        (void)snprintf(entry->ill, sizeof entry->ill, "it does not tell its UUID");
    memcpy(entry->used_by, look->gpus[i].used_by, sizeof entry->used_by);
    log_change(entry, before.ill, before.used_by);
    return memcmp(&before.what, &entry->what, sizeof before.what) != 0 ||
           strcmp(before.ill, entry->ill) != 0 || strcmp(before.used_by, entry->used_by) != 0 ||
           !before.present;
}

static void set_absent(struct agent_gpus *gpus, struct gpu_entry *entry)
{
    char before[PROBE_GPU_ILL_BYTES];

    if (!entry->present)
        return;
    memcpy(before, entry->ill, sizeof before);
    entry->present = false;
    entry->now = (struct nvml_reading){.percent = -1,
                                       .memory_bytes = -1,
                                       .memory_percent = -1,
                                       .celsius = -1,
                                       .watts = -1,
                                       .energy_j = -1,
                                       .silent = true};
    (void)snprintf(entry->ill, sizeof entry->ill, "%s", ABSENT_REASON);
    log_change(entry, before, entry->used_by);
    gpus->version++;
}

static struct gpu_entry *new_entry(struct agent_gpus *gpus, const struct probe_gpu *what)
{
    if (gpus->entry_count == GPUS_KEPT)
        return NULL;
    struct gpu_entry *entry = &gpus->entries[gpus->entry_count++];
    *entry = (struct gpu_entry){.what = *what};
    entry->now = (struct nvml_reading){.percent = -1, .watts = -1, .energy_j = -1};
    return entry;
}

static void apply(struct agent_gpus *gpus, const struct look *look)
{
    bool seen[GPUS_KEPT] = {false};

    for (int i = 0; i < look->count; i++) {
        struct gpu_entry *entry = find_entry(gpus, look->gpus[i].what.uuid);

        entry = entry ? entry : new_entry(gpus, &look->gpus[i].what);
        if (!entry)
            continue; /* more different GPUs than a machine ever had: the rest is not offered */
        seen[entry - gpus->entries] = true;
        if (update_entry(entry, look, i))
            gpus->version++;
    }
    for (size_t i = 0; i < gpus->entry_count; i++)
        if (!seen[i])
            set_absent(gpus, &gpus->entries[i]);
}

static void read_once(struct agent_gpus *gpus)
{
    struct probe_value *values = mem_array(PROBE_VALUES_MAX, sizeof values[0]);
    struct look *look = mem_alloc(sizeof *look);
    size_t value_count;
    int64_t now_ms;

    open_library(gpus);
    value_count = probe_load_read(&gpus->load, values);
    ask(gpus, look);
    ask_whose(gpus, look);
    now_ms = clock_mono_ms();
    lock_enter(gpus->lock);
    apply(gpus, look);
    gpus__charge(gpus, now_ms);
    if (gpus->readings > 0) /* the first has no rates */
        gpus__sample_add(gpus, values, value_count, now_ms);
    gpus->read_ms = now_ms;
    lock_leave(gpus->lock);
    gpus->readings++;
    mem_free(look);
    mem_free(values);
    (void)queue_push(gpus->fresh, gpus); /* full: nobody took the last word yet */
}

static void run(void *ctx)
{
    struct agent_gpus *gpus = ctx;

    while (!atomic_load(&gpus->stops)) {
        (void)queue_pop(gpus->wake, gpus->period_ms); /* a stop, or the time is over */
        if (!atomic_load(&gpus->stops))
            read_once(gpus);
    }
}

enum err_code agent_gpus_new(struct agent_gpus **ret_gpus, const struct agent_gpus_options *options,
                             struct err *err)
{
    struct agent_gpus *gpus = MEM_NEW(struct agent_gpus);
    enum err_code code;

    gpus->nvml_path = mem_copy_text(options->nvml_path);
    gpus->dir = mem_copy_text(options->dir);
    gpus->period_ms = options->period_ms ? options->period_ms : PERIOD_MS;
    gpus->wake = queue_new(1);
    gpus->fresh = queue_new(1);
    gpus->never = queue_new(1);
    gpus->lock = lock_new();
    gpus->version = 1;
    gpus->load = (struct probe_load){.path = gpus->dir};
    probe_machine_read(&gpus->machine, NULL, gpus->dir);
    read_once(gpus);
    code = thread_start(&gpus->thread, "gpus", run, gpus, err);
    if (code == OK)
        *ret_gpus = gpus;
    else
        agent_gpus_free(gpus);
    return code;
}

void agent_gpus_free(struct agent_gpus *gpus)
{
    if (!gpus)
        return;
    atomic_store(&gpus->stops, true);
    (void)queue_push(gpus->wake, gpus); /* full: it wakes anyway */
    thread_join(&gpus->thread);
    gpus__samples_free(gpus);
    nvml_close(gpus->nvml);
    queue_free(gpus->wake);
    queue_free(gpus->fresh);
    queue_free(gpus->never);
    lock_free(gpus->lock);
    mem_free(gpus->nvml_path);
    mem_free(gpus->dir);
    mem_free(gpus);
}

static bool is_stale(const struct agent_gpus *gpus)
{
    return clock_mono_ms() - gpus->read_ms > MAX(STALE_MS, 3 * gpus->period_ms);
}

static bool is_usable(const struct gpu_entry *entry)
{
    return entry->present && !entry->ill[0] && !entry->used_by[0] && !entry->what.mig;
}

size_t agent_gpus_usable(struct agent_gpus *gpus, const char **ret_uuids, size_t max)
{
    size_t count = 0;

    lock_enter(gpus->lock);
    for (size_t i = 0; i < gpus->entry_count && !is_stale(gpus); i++)
        if (is_usable(&gpus->entries[i]) && count < max)
            ret_uuids[count++] = gpus->entries[i].what.uuid;
    lock_leave(gpus->lock);
    return count;
}

void agent_gpus_offer(struct agent_gpus *gpus, struct agent_gpus_offer *ret_offer)
{
    struct agent_gpus_offer offer = {0};
    bool mixed = false;

    lock_enter(gpus->lock);
    for (size_t i = 0; i < gpus->entry_count; i++) {
        const struct gpu_entry *entry = &gpus->entries[i];

        if (entry->present && entry->what.memory_kind == GPU_MEMORY_UNIFIED)
            offer.host_reserve_bytes = probe_host_reserve(gpus->machine.memory_bytes);
        if (!is_usable(entry) || is_stale(gpus))
            continue;
        mixed |= offer.count > 0 && strcmp(offer.type, entry->type) != 0;
        memcpy(offer.type, entry->type, sizeof offer.type);
        offer.memory_bytes = offer.count ? MIN(offer.memory_bytes, entry->what.memory_bytes)
                                         : entry->what.memory_bytes;
        offer.count++;
    }
    lock_leave(gpus->lock);
    if (mixed)
        offer.type[0] = '\0';
    *ret_offer = offer;
}

int64_t agent_gpus_version(struct agent_gpus *gpus)
{
    int64_t version;

    lock_enter(gpus->lock);
    version = 2 * gpus->version + is_stale(gpus);
    lock_leave(gpus->lock);
    return version;
}

static struct wire_gpu gpu_said(const struct gpu_entry *entry, bool stale, struct arena *arena)
{
    return (struct wire_gpu){
        .uuid = str_from(entry->what.uuid),
        .name = arena_copy(arena, str_from(entry->what.name)),
        .type = arena_copy(arena, str_from(entry->type)),
        .bus_id = arena_copy(arena, str_from(entry->what.bus_id)),
        .memory_kind = str_from(gpu_memory_kind_name(entry->what.memory_kind)),
        .memory_bytes = entry->what.memory_bytes,
        .mig = entry->what.mig,
        .ill = stale ? STR(STALE_REASON) : arena_copy(arena, str_from(entry->ill)),
        .used_by = arena_copy(arena, str_from(entry->used_by)),
    };
}

void agent_gpus_node(struct agent_gpus *gpus, struct arena *arena, struct wire_node *ret_node)
{
    struct wire_gpu *list = arena_array(arena, GPUS_KEPT, sizeof list[0]);

    lock_enter(gpus->lock);
    const struct probe_machine *machine = &gpus->machine;
    struct wire_node node = {.host = str_from(machine->host),
                             .os = str_from(machine->os),
                             .kernel = str_from(machine->kernel),
                             .arch = str_from(machine->arch),
                             .cpu_model = str_from(machine->cpu_model),
                             .driver = arena_copy(arena, str_from(machine->driver)),
                             .cuda = arena_copy(arena, str_from(machine->cuda)),
                             .cpu_threads = machine->cpu_threads,
                             .memory_bytes = machine->memory_bytes,
                             .disk_bytes = machine->disk_bytes,
                             .gpus = list};
    for (size_t i = 0; i < gpus->entry_count; i++) {
        const struct gpu_entry *entry = &gpus->entries[i];

        if (is_nameless(entry) && !entry->present)
            continue; /* it has told its name since */
        if (entry->present && entry->what.memory_kind == GPU_MEMORY_UNIFIED)
            node.host_reserve_bytes = probe_host_reserve(machine->memory_bytes);
        list[node.gpu_count++] = gpu_said(entry, is_stale(gpus), arena);
    }
    lock_leave(gpus->lock);
    *ret_node = node;
}

void agent_gpus_wait(struct agent_gpus *gpus, int64_t timeout_ms)
{
    (void)queue_pop(gpus->fresh, timeout_ms);
}
