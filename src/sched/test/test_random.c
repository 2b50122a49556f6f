/* Small random snapshots, each carried on for some cycles: what the scheduler decides must hold
 * every time. A failure prints the seed: test_sched_random SEED runs that one alone. */
#include "world.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define SEEDS         3000
#define CYCLES        8
#define SETTLE_CYCLES 60

/* Small jobs take back what a large one of their own project outranks then, and a third of higher
 * priority passes that. */
#define THREE_RIGHTS_SEED 24182

static uint64_t dice_state, first_seed = 1, seed_count = SEEDS;
static volatile sig_atomic_t running_seed;

static uint32_t dice(uint32_t below)
{
    dice_state = dice_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((dice_state >> 33) % below);
}

static int64_t bound_or_none(uint32_t below)
{
    return dice(2) ? SCHED_UNLIMITED : (int64_t)dice(below);
}

static const uint32_t *some_targets(struct world *w, uint32_t *ret_count)
{
    uint32_t *targets = arena_array(&w->arena, w->s.target_count, sizeof *targets);

    if (dice(4))
        return NULL;
    for (uint32_t t = 0; t < w->s.target_count; t++)
        if (dice(2))
            targets[(*ret_count)++] = t;
    return targets;
}

static void random_hardware(struct world *w)
{
    for (uint32_t i = dice(3); i > 0; i--)
        world_target(w);
    for (uint32_t i = 0; i < w->s.target_count; i++) {
        w->targets[i].price_hour_micro = dice(100);
        w->targets[i].price_gpu_hour_micro = dice(100);
        w->targets[i].maintenance = dice(8) == 0;
        w->targets[i].until = dice(2) ? TIME_NONE : w->s.now + HOUR;
    }
    for (uint32_t i = 1 + dice(6); i > 0; i--) {
        struct sched_node *n =
            &w->nodes[world_node(w, dice(w->s.target_count), dice(3) ? 8 : dice(3))];
        n->gpu_type = dice(2);
        n->gpu_memory_bytes = dice(3) * 40 * GIB;
        n->several = dice(2);
        if (dice(5) == 0) {
            n->state = (enum sched_node_state)dice(5);
            n->until = dice(2) ? TIME_NONE : w->s.now + dice(2 * HOUR);
        }
        if (n->state == SCHED_NODE_COMING)
            n->free = n->total;
        if (dice(6) == 0)
            n->free.v[dice(RESOURCE_COUNT)] -= dice(12); /* others use it too */
    }
}

static void random_shares(struct world *w)
{
    for (uint32_t i = 2 + dice(8); i > 0; i--) {
        struct sched_share *s =
            &w->shares[world_share(w, dice(w->s.share_count), dice(2) ? dice(12) : 0)];
        s->weight = dice(4);
        s->jobs_max = dice(4) ? SCHED_UNLIMITED : dice(6);
        s->held = dice(20) == 0;
        s->borrow.v[RESOURCE_GPU] = bound_or_none(12);
        s->lend.v[RESOURCE_GPU] = bound_or_none(8);
        if (dice(6) == 0)
            s->quota.v[RESOURCE_CPU] = dice(16) * 1000;
        s->targets = some_targets(w, &s->target_count);
        for (int k = 0; k < SCHED_PERIODS; k++) {
            s->budget.period_end[k] = w->s.now + (k + 1) * (dice(20) + 1) * HOUR;
            s->budget.gpu_ms_left[k] = dice(4) ? SCHED_UNLIMITED : dice(200) * HOUR;
            s->budget.micro_left[k] = dice(4) ? SCHED_UNLIMITED : dice(20000);
        }
        if (s->budget.period_end[1] < s->budget.period_end[0])
            s->budget.period_end[1] = s->budget.period_end[0] + HOUR;
    }
    for (uint32_t i = dice(3); i > 0; i--)
        world_queue(w, dice(2));
    for (uint32_t i = 0; i < w->s.queue_count; i++) {
        w->queues[i].aging_ms = dice(3) * 1000;
        w->queues[i].held = dice(12) == 0;
        w->queues[i].spread = dice(3) == 0;
        w->queues[i].targets = some_targets(w, &w->queues[i].target_count);
    }
}

static void random_shapes(struct world *w)
{
    for (uint32_t i = 3 + dice(8); i > 0; i--) {
        struct sched_shape *s = &w->shapes[world_shape(w, 1 + dice(2) * dice(4), dice(9))];
        uint32_t count = dice(3);
        struct sched_step *steps = arena_array(&w->arena, count, sizeof *steps);
        agent_id *excluded = arena_array(&w->arena, 1, sizeof *excluded);
        s->need.v[RESOURCE_CPU] = dice(3) * 1000;
        if (dice(30) == 0)
            s->need.v[dice(RESOURCE_COUNT)] = INT64_MAX - dice(2);
        s->gpu_types = dice(3) ? 0 : dice(4);
        s->gpu_memory_bytes = dice(4) ? 0 : 40 * GIB;
        for (uint32_t k = 0; k < count; k++)
            steps[k] = (struct sched_step){dice(3) ? dice(w->s.target_count) : SCHED_NONE,
                                           dice(4) ? dice(2 * HOUR) : SCHED_UNLIMITED};
        s->steps = steps;
        s->step_count = count;
        if (dice(5) == 0) {
            *excluded = w->nodes[dice(w->s.node_count)].id;
            s->excluded = excluded;
            s->excluded_count = 1;
        }
    }
}

static void random_jobs(struct world *w)
{
    for (uint32_t i = dice(20); i > 0 && w->s.job_count < WORLD_MAX / 2; i--) {
        uint32_t shape = dice(w->s.shape_count);
        struct sched_job *j = &w->jobs[world_job(w, dice(w->s.share_count), shape)];
        j->queue = dice(w->s.queue_count);
        j->priority = dice(50) ? (int64_t)dice(4) : INT64_MAX;
        j->queued = j->ladder_at = w->s.now - dice(HOUR);
        j->step_from = dice(8) ? 0 : dice(3);
        j->time_limit_ms = dice(3) ? dice(6 * HOUR) : SCHED_UNLIMITED;
    }
}

/* Time passes: some attempts end, those that are being ended mostly. */
static void random_ends(struct world *w)
{
    for (uint32_t i = w->s.attempt_count; i-- > 0;)
        if (w->attempts[i].ends_by <= w->s.now || dice(w->attempts[i].stopping ? 2 : 10) == 0)
            world_end(w, i);
    for (uint32_t i = 0; i < w->s.attempt_count; i++)
        w->attempts[i].evictable_from = w->attempts[i].since + dice(HOUR / 2);
}

static void run_seed(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    running_seed = (sig_atomic_t)seed;
    dice_state = seed * 0x9e3779b97f4a7c15ULL;
    world_init(w);
    w->s.policy.parts = dice(2) ? SCHED_ALL : dice(SCHED_ALL + 1);
    w->s.policy.preempt_looks_max = dice(4) ? 10000 : dice(40);
    random_hardware(w);
    random_shares(w);
    random_shapes(w);
    for (int i = 0; i < CYCLES; i++) {
        random_jobs(w);
        world_cycle(w);
        if (i == CYCLES / 2 && w->s.job_count > 0)
            (void)sched_estimate(&w->s, dice(w->s.job_count), 10, &w->arena);
        world_apply(w);
        w->s.now += dice(HOUR);
        random_ends(w);
    }
    world_release(w);
    free(w);
}

static void what_is_decided_holds_on_random_snapshots(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++)
        run_seed(seed);
}

/* Who was ended waits again, at its old place. */
static void requeue_ended(struct world *w)
{
    for (uint32_t i = w->s.attempt_count; i-- > 0;) {
        const struct sched_attempt a = w->attempts[i];
        struct sched_job *j;
        if (!a.stopping)
            continue;
        world_end(w, i);
        j = &w->jobs[world_job(w, a.share, a.shape)];
        j->id = a.job;
        j->queue = a.queue;
        j->priority = a.priority;
        j->queued = j->ladder_at = a.job.v;
    }
}

/* Who ended whom, each pair once. */
static void forget_repeats(struct world *w)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < w->s.eviction_count; i++) {
        bool known = false;
        for (uint32_t k = 0; k < kept && !known; k++)
            known = w->evictions[k].winner.v == w->evictions[i].winner.v &&
                    w->evictions[k].loser.v == w->evictions[i].loser.v;
        if (!known)
            w->evictions[kept++] = w->evictions[i];
    }
    w->s.eviction_count = kept;
}

/* Nothing comes, nothing ends by itself, anybody may be ended at any time. Each of the two rights
 * alone comes to an end without a pause, both together within one: in no circle of projects does
 * each end the next one's. */
static void settle_seed(uint64_t seed, bool both)
{
    struct world *w = calloc(1, sizeof *w);
    uint32_t ended = 1;

    assert_non_null(w);
    running_seed = (sig_atomic_t)seed;
    dice_state = seed * 0x9e3779b97f4a7c15ULL;
    world_init(w);
    if (!both) {
        w->s.policy.evict_pause_ms = 0;
        w->s.policy.parts &= ~(unsigned)(dice(2) ? SCHED_RECLAIM : SCHED_OUTRANK);
    }
    random_hardware(w);
    random_shares(w);
    random_shapes(w);
    random_jobs(w);
    random_jobs(w);
    for (uint32_t i = 0; i < w->s.job_count; i++) {
        w->jobs[i].time_limit_ms = SCHED_UNLIMITED;
        w->jobs[i].queued = w->jobs[i].ladder_at = w->jobs[i].id.v;
    }
    for (int i = 0; i < SETTLE_CYCLES; i++) {
        world_cycle(w);
        ended = w->result.evict_count;
        forget_repeats(w);
        world_apply(w);
        w->s.now += 1000;
        requeue_ended(w);
    }
    ENSURE(ended == 0);
    world_release(w);
    free(w);
}

static void ending_for_others_comes_to_an_end(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++)
        settle_seed(seed, false);
}

static void ending_for_either_right_comes_to_an_end(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++)
        settle_seed(seed, true);
    if (seed_count == SEEDS)
        settle_seed(THREE_RIGHTS_SEED, true);
}

/* Only what may be called in a signal handler. */
static void on_abort(int signal)
{
    static const char text[] = "replay with: test_sched_random ";
    char digits[24];
    size_t at = sizeof digits;
    long seed = running_seed;

    (void)signal;
    digits[--at] = '\n';
    for (; seed > 0 && at > 0; seed /= 10)
        digits[--at] = (char)('0' + seed % 10);
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    (void)!write(STDERR_FILENO, digits + at, sizeof digits - at);
    _exit(1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_decided_holds_on_random_snapshots),
        cmocka_unit_test(ending_for_others_comes_to_an_end),
        cmocka_unit_test(ending_for_either_right_comes_to_an_end),
    };
    struct sigaction action = {.sa_handler = on_abort};

    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 10);
        seed_count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    }
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sched_random", tests, NULL, NULL);
}
