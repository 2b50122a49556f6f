/* What will happen, by time; at the same time in the order in which it was put in. One thread at a
 * time. */
#pragma once

#include "base/timeval.h"

struct sim_message;

enum sim_happening {
    SIM_ARRIVE,    /* job `a` is submitted */
    SIM_CANCEL,    /* somebody cancels job `a` */
    SIM_READY,     /* a job that was put off may start again */
    SIM_CYCLE,     /* the scheduler runs */
    SIM_TICK,      /* the server looks at leases and offers */
    SIM_TO_SERVER, /* a message arrives */
    SIM_TO_AGENT,
    SIM_POLL,     /* agent `a` reports */
    SIM_WORK_END, /* work `b` of agent `a` is over */
    SIM_FAULT,    /* fault `a` begins */
    SIM_HEAL,     /* and ends */
    SIM_SCRIPT,   /* line `a` of a scenario */
};

struct sim_event {
    time_ms at;
    uint64_t order;
    enum sim_happening what;
    uint32_t a, b;
    uint64_t c;
    struct sim_message *message; /* owned by the event */
};

struct sim_heap {
    struct sim_event *items;
    size_t count, room;
    uint64_t order;
};

void sim_heap_release(struct sim_heap *heap);
void sim_heap_put(struct sim_heap *heap, struct sim_event event);
/* False when nothing is left. */
bool sim_heap_take(struct sim_heap *heap, struct sim_event *ret_event);
