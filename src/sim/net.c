/* Messages between server and agents: late, lost, twice, out of order. */
#include "sim/state.h"

#include "base/mem.h"

struct sim_message *sim__message(struct sim *sim, enum sim_message_kind kind, uint32_t node)
{
    struct sim_message *message = sim->spare;

    if (message)
        sim->spare = NULL;
    else
        message = MEM_NEW(struct sim_message);
    *message = (struct sim_message){.kind = kind, .node = node};
    return message;
}

void sim__message_free(struct sim *sim, struct sim_message *message)
{
    mem_free(message->works);
    if (sim->spare) {
        mem_free(message);
    } else {
        message->works = NULL;
        sim->spare = message;
    }
}

static bool for_server(const struct sim_message *message)
{
    return message->kind >= SIM_REPORT;
}

static void post(struct sim *sim, struct sim_message *message)
{
    const struct sim_options *o = &sim->options;
    int64_t most = sim->storms ? o->delay_max_ms * 20 + 15000 : o->delay_max_ms;
    int64_t delay = o->ideal ? o->delay_min_ms : sim_rand_range(&sim->rand, o->delay_min_ms, most);

    sim_heap_put(&sim->heap, (struct sim_event){
                                 .at = sim->now + delay,
                                 .what = for_server(message) ? SIM_TO_SERVER : SIM_TO_AGENT,
                                 .message = message,
                             });
}

/* Nothing goes through a cut cable, neither when it is sent nor when it arrives. */
static bool passes(const struct sim *sim, const struct sim_message *message)
{
    const struct sim_agent *agent = &sim->nodes[message->node].agent;

    return !agent->cut && !sim->down && agent->powered && agent->up;
}

void sim__send(struct sim *sim, struct sim_message *message)
{
    int64_t drop = sim->options.drop_permille + (sim->storms ? 200 : 0);
    int64_t twice = sim->options.twice_permille + (sim->storms ? 200 : 0);

    if (!for_server(message))
        message->epoch = sim->nodes[message->node].epoch;
    if (!passes(sim, message) || (drop && sim_rand_chance(&sim->rand, drop))) {
        sim__message_free(sim, message);
        return;
    }
    if (twice && sim_rand_chance(&sim->rand, twice)) {
        struct sim_message *again = sim__message(sim, message->kind, message->node);

        *again = *message;
        if (message->works)
            again->works = mem_copy(message->works, message->work_count * sizeof *message->works);
        post(sim, again);
    }
    post(sim, message);
}

void sim__deliver(struct sim *sim, struct sim_message *message)
{
    if (passes(sim, message)) {
        if (for_server(message))
            sim__receive(sim, message);
        else
            sim__agent_receive(sim, message);
    }
    sim__message_free(sim, message);
}
