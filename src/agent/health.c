/* The states of a service that is asked. Until its first good answer it is starting, and failures
 * do not count, only time; after it, one good answer makes up for all failures before. */
#include "agent/health.h"

#include "base/err.h"

#include <stdio.h>

#define STARTING_EVERY_MS 1000
#define CHANGES_MAX       5
#define CHANGE_REFILL_MS  60000
#define PROBLEM_TELL_MS   30000 /* of another problem in the same state */

void health_init(struct health *h, const struct health_spec *spec, int64_t age_ms, bool was_good,
                 int64_t now_ms)
{
    ENSURE(spec->port > 0);
    *h = (struct health){.spec = *spec,
                         .state = was_good ? HEALTH_GOOD : HEALTH_STARTING,
                         .began_ms = now_ms - MAX(age_ms, 0),
                         .ask_at_ms = now_ms,
                         .known = !was_good,
                         .changes_left = CHANGES_MAX,
                         .refilled_ms = now_ms};
}

static bool note_failure(struct health *h, const char *problem, int64_t now_ms)
{
    (void)snprintf(h->problem, sizeof(h->problem), "%s", problem);
    h->failed++;
    if (h->state == HEALTH_STARTING)
        return now_ms - h->began_ms >= h->spec.starts_within_s * 1000;
    h->state = HEALTH_BAD;
    return h->failed >= h->spec.failures;
}

bool health_note(struct health *h, const char *problem, int64_t asked_ms, int64_t now_ms)
{
    int64_t every_ms = h->spec.every_s * 1000;
    bool give_up = false;

    h->known = true;
    if (problem) {
        give_up = note_failure(h, problem, now_ms);
    } else {
        h->state = HEALTH_GOOD;
        h->failed = 0;
        h->problem[0] = '\0';
    }
    if (h->state == HEALTH_STARTING)
        every_ms = MIN(every_ms, STARTING_EVERY_MS);
    h->ask_at_ms = MAX(asked_ms + every_ms, now_ms);
    return give_up;
}

static void refill(struct health *h, int64_t now_ms)
{
    int64_t more = (now_ms - h->refilled_ms) / CHANGE_REFILL_MS;

    h->changes_left = MIN(h->changes_left + more, CHANGES_MAX);
    h->refilled_ms += more * CHANGE_REFILL_MS;
}

bool health_tell(struct health *h, int64_t now_ms)
{
    bool changed = h->state != h->told;

    refill(h, now_ms);
    if (!h->known || (changed && h->changes_left == 0))
        return false;
    if (!changed &&
        (strcmp(h->problem, h->told_problem) == 0 || now_ms - h->told_ms < PROBLEM_TELL_MS))
        return false;
    h->changes_left -= changed ? 1 : 0;
    h->told = h->state;
    h->told_ms = now_ms;
    memcpy(h->told_problem, h->problem, sizeof(h->told_problem));
    return true;
}

void health_reason(const struct health *h, char ret_reason[HEALTH_REASON_BYTES])
{
    if (h->state == HEALTH_STARTING)
        (void)snprintf(ret_reason, HEALTH_REASON_BYTES, "it did not come up within %lld s: %s",
                       (long long)h->spec.starts_within_s, h->problem);
    else if (h->spec.failures == 1)
        (void)snprintf(ret_reason, HEALTH_REASON_BYTES, "its health check failed: %s", h->problem);
    else
        (void)snprintf(ret_reason, HEALTH_REASON_BYTES, "%lld health checks in a row failed: %s",
                       (long long)h->failed, h->problem);
}
