/* What a cycle works on: the snapshot beside what the cycle has decided so far. One file a part:
 * tree (who may hold how much), order (whose turn it is), room (where there is place), budget,
 * reserve (room that is held), preempt (who is ended), why (what a job waits for); cycle.c goes
 * through the jobs. thread: any, one at a time for one cycle */
#pragma once

#include "sched/access.h"
#include "sched/memo.h"
#include "sched/tree.h"

/* Room of a node that is held for a reservation; in a list per node. */
struct hold {
    uint32_t reservation, next;
    int64_t ranks;
};

struct node {
    struct sched_amounts free;   /* now */
    struct sched_amounts coming; /* what attempts that are being ended give back */
    struct sched_amounts spare;  /* if held: what may be used beyond hold_start */
    uint32_t class_no;           /* SCHED_NONE: it takes nothing */
    uint32_t place;              /* in its class's order */
    uint32_t gang;               /* the last gang of which a rank took it: see gang_stamp */
    uint32_t holds;              /* the first; SCHED_NONE: nothing is held */
    time_ms hold_start; /* what is over by then is in nobody's way; TIME_NONE: all that starts is */
    uint32_t attempts, attempt_end; /* in attempts_by_node */
};

/* Nodes that differ by what is free on them alone: in `order` by free GPUs, then free cores. */
struct node_class {
    uint32_t target;
    unsigned gpu_type;
    int64_t gpu_memory_bytes;
    uint64_t features;
    bool gpus;
    struct sched_amounts least;    /* of the totals of its nodes, each resource alone */
    int64_t gpus_free, gpus_total; /* in sum */
    int64_t wanted;  /* by those that may use few kinds of GPU: see find_wanted; millionths */
    uint32_t *order; /* changes with what is free */
    const uint32_t *members; /* by rising place in the snapshot */
    uint32_t count;
};

/* A reservation while the cycle runs. */
struct held {
    uint32_t job;
    bool victims, live, placed; /* placed: its nodes' holds are there */
    bool fresh;                 /* others are ended for it in this cycle: nobody takes it over */
    bool owned;                 /* its job stays within its project's quota */
    bool quota;                 /* its quota is short: it holds that, no nodes */
    bool holds_quota;           /* from its leaf up to `top` */
    uint32_t top;
    bool promised; /* the trees count it as if it held what it asks for */
    time_ms since, start;
    uint32_t *nodes; /* places in the snapshot, rank by rank */
    uint32_t node_count;
};

/* Whose turn it is, and what follows from that for the places it may take. */
struct asker {
    uint32_t job, leaf, access;
    const struct sched_job *j;
    const struct sched_shape *shape;
    struct sched_amounts ask; /* of all ranks */
    __int128 place;           /* in its queue */
    time_ms ends;             /* SCHED_UNLIMITED */
    uint32_t step_from, step_to;
    time_ms next_step; /* when the next one opens; TIME_NONE: none does */
    bool money;        /* budgets of money are above it */
    bool money_bound;  /* ... and one of them kept it from a target: see money_wait */
    bool promised;     /* others were ended for it */
    bool outranks;     /* there may be reservations that do not hold against it */
    bool outranks_own; /* ... that hold against other projects */
    struct rivals {
        uint32_t lower, later; /* of its queue: of lower priority; that come after it in order */
    } rivals, own_rivals;      /* together they name those reservations */
    uint32_t ends_first;       /* reservations that start after its end */
};

/* Why nothing was found for a shape at certain places: for all others that ask for the same. */
struct reason {
    bool known, hardware; /* hardware: it would fit once others end */
    struct wait wait;
};

enum job_state { JOB_OPEN, JOB_STARTS, JOB_WAITS };

struct cycle {
    const struct sched_snapshot *s;
    struct arena *arena;
    struct tree tree;  /* with all that is held */
    struct tree after; /* without attempts that are being ended */
    struct access access;

    struct node *nodes;
    struct node_class *classes; /* by target */
    const uint32_t *class_from; /* by target, target_count + 1 */
    const uint32_t *attempts_by_node;
    const uint32_t *nodes_by_target, *target_from; /* target_count + 1 */
    bool any_node;                                 /* one is there or on its way */
    uint32_t class_count;
    bool *leaving; /* by attempt: it is being ended */

    struct held *reservations; /* those given in first */
    size_t reservation_count, reservation_room;
    size_t reservations_given;
    uint32_t *reservation_of; /* by job; SCHED_NONE */
    int64_t *array_left;      /* places, by array */
    int64_t turnover_ms;      /* see sched__turnover; -1: not worked out yet */
    uint32_t head;            /* the reservation of the first in line; SCHED_NONE */
    struct held_queue {
        struct held_place {
            __int128 place;          /* see sched__place */
            int64_t priority, least; /* least: of this one and those behind it */
        } * places;                  /* rising */
        int64_t *priorities;         /* rising */
        size_t count, room, priority_room;
    } * held_queues;          /* by queue: of the jobs for which room is held; here: not owned */
    uint32_t *owned_of;       /* by leaf: reservations that are owned */
    struct memo owned_places; /* by leaf, queue: place in owned_queues */
    struct held_queue *owned_queues;
    size_t owned_count, owned_room;
    struct quota_hold {
        uint32_t reservation; /* SCHED_NONE */
        time_ms start;
        struct sched_amounts spare; /* what may be used beyond `start` beside it */
    } * quota_holds;                /* by branch; from the first on */
    uint32_t quota_hold_count;
    struct hold *holds;
    size_t hold_count, hold_room;

    struct memo rival_sets; /* reservations that do not hold against a job: their number */
    struct memo tried;      /* places tried: number of the reason */
    struct reason *reasons;
    size_t reason_count, reason_room;
    uint64_t epoch; /* rises when room grows again: what was tried before says nothing then */

    struct memo searched; /* preemption that found nothing */
    int64_t looks_left;
    uint32_t
        *attempts_by_leaf;   /* that may be ended, by the leaf's `enter`; from the first search */
    uint32_t *leaf_attempts; /* where they begin: by `enter`, one more than branches */
    uint32_t *all_by_leaf, *all_from; /* all attempts in the same way; from when it is asked for */
    uint32_t *attempts_by_queue, *queue_attempts;
    bool *queue_sorted;   /* the cheapest to end come first */
    struct memo paused;   /* shares: the second ended one of the first lately */
    struct memo ended_by; /* by share that lost one: place of the last such in enders */
    struct ender {
        share_id winner;
        uint32_t next;
    } * enders;
    size_t ender_count, ender_room;
    int64_t *lowest;            /* by queue: priority of what may be ended; INT64_MAX: nothing */
    struct search *search;      /* kept between searches */
    uint32_t *seen, seen_stamp; /* by attempt */
    uint32_t gang_stamp;        /* of the gang that is being placed */
    uint32_t *nodes_scratch, scratch_room;
    struct wait money_wait; /* of the last that a budget kept from a target */

    int64_t outrank_looks;
    bool early;        /* before the order: only those for which room is held */
    bool ordering;     /* jobs have their turns in order */
    int64_t *highest;  /* by queue: priority of what waits */
    bool *blocked;     /* by queue: strict order, and one does not fit */
    int64_t *ahead;    /* by queue: jobs that wait before the next */
    uint8_t *states;   /* by job: enum job_state */
    bool *idle;        /* by job: no passing of time changes what it waits for */
    uint32_t *wait_of; /* by job: place in result.waits */
    struct sched_result result;
};

/* room.c */
void sched__room_init(struct cycle *c);
/* May the job use the node at all, whatever is free there? Its step's target is asked apart. */
bool sched__room_suits(const struct cycle *c, const struct asker *who, uint32_t node);
/* Do its project, its queue and budgets of money let it use the target? */
bool sched__room_target(struct cycle *c, struct asker *who, uint32_t target);
/* Is the target one of the steps that are open for it? */
bool sched__room_step(const struct asker *who, uint32_t target);
/* Is there so much free in all that looking for nodes makes sense? Cheap for few ranks. */
bool sched__room_enough(const struct cycle *c, const struct asker *who);
/* Finds nodes for all ranks and takes what is asked for there, or changes nothing. */
bool sched__room_place(struct cycle *c, struct asker *who, uint32_t *ret_step, uint32_t *ret_nodes);
/* The first place in the class's order from which on a rank may fit. */
uint32_t sched__room_from(const struct cycle *c, const struct node_class *cls,
                          const struct sched_amounts *need);
bool sched__room_class(const struct node_class *cls, const struct sched_shape *shape);
/* May the job use what is free on the node although room is held there? */
bool sched__room_free(const struct cycle *c, const struct asker *who, const struct node *n);
/* Did it use room there that is held for others? */
bool sched__room_overdrawn(const struct asker *who, const struct node *n);
/* Works out anew what is left beside what is held there. */
void sched__room_respare(struct cycle *c, uint32_t node);

/* budget.c */
bool sched__budget_hours(const struct cycle *c, const struct asker *who, struct wait *ret_wait);
bool sched__budget_money(const struct cycle *c, const struct asker *who, uint32_t target,
                         struct wait *ret_wait);
void sched__budget_charge(struct cycle *c, const struct asker *who, uint32_t target);

/* turnover.c */
/* How long room takes to change hands, by how long what runs has run. */
int64_t sched__turnover(struct cycle *c);
/* Is it so far ahead, beside that, that time limits say nothing about when room comes? */
bool sched__is_far(struct cycle *c, time_ms start);

/* reserve.c */
void sched__reserve_load(struct cycle *c);
/* Room that is held for the job does not hold up the job itself: between lift and put. */
void sched__reserve_lift(struct cycle *c, uint32_t reservation);
void sched__reserve_put(struct cycle *c, uint32_t reservation);
/* Room may have grown for others: what was tried before says nothing any more. */
void sched__reserve_drop(struct cycle *c, uint32_t reservation);
/* Its job starts: what it held elsewhere stays closed as what is dropped does. */
void sched__reserve_spend(struct cycle *c, uint32_t reservation, const struct sched_start *start);
/* What is promised to those that the job outranks does not hold up the job: between yield and
 * unyield, which drops those for whom no quota is left. */
void sched__reserve_yield(struct cycle *c, const struct asker *who);
void sched__reserve_unyield(struct cycle *c);
/* For whom others are ended; `nodes` is kept. */
void sched__reserve_victims(struct cycle *c, uint32_t job, uint32_t *nodes);
/* The first in line gets, or keeps, room; its start is computed anew. Not put yet. */
void sched__reserve_head(struct cycle *c, struct asker *who);
/* The first of its project that its quota holds up gets, or keeps, quota held. */
void sched__reserve_quota(struct cycle *c, uint32_t job);
/* Fills in what the reservations mean for the job. */
void sched__reserve_view(struct cycle *c, struct asker *who);
/* Held room counts as if the job ran there: it does not hold against who could end it for its
 * priority, which is who is of higher priority in the same queue and goes before it there, unless
 * the room lies within the quota of another project, or that project ended one of the asker's
 * lately. What others are ended for in this cycle nobody takes over in it. */
bool sched__reserve_outranked(const struct cycle *c, const struct asker *who, uint32_t reservation);
void sched__reserve_result(struct cycle *c);

/* limit.c */
/* Holds quota for the reservation's job, if nobody holds any there and it may start some time. */
bool sched__limit_hold(struct cycle *c, uint32_t reservation);
/* Is none held for others where it would be for the job? */
bool sched__limit_open(const struct cycle *c, const struct asker *who);
void sched__limit_lift(struct cycle *c, uint32_t reservation);
/* May the job use quota although some is held for others? */
bool sched__limit_passes(const struct cycle *c, const struct asker *who, struct wait *ret_wait);
/* It starts: less is left beside what is held. */
void sched__limit_charge(struct cycle *c, const struct asker *who);

/* preempt.c */
void sched__preempt_init(struct cycle *c);
/* Ends attempts so that the job may start once they are gone. `branch`: at whose limit it ended,
 * SCHED_NONE if at the hardware; `reason`: number of what it tried there. */
bool sched__preempt(struct cycle *c, struct asker *who, uint32_t branch, uint32_t reason);
/* Fills in all_by_leaf. */
void sched__preempt_list_all(struct cycle *c);
/* Did a project end one of the asker's lately, so that the asker ends nothing of it? */
bool sched__preempt_paused(const struct cycle *c, const struct asker *who, uint32_t share);

/* why.c */
void sched__why(struct cycle *c, struct asker *who, struct reason *ret_reason);

/* cycle.c */
/* All of it; `c->tree` then also holds what waits (see rank), its budgets only what started. */
void sched__cycle_run(const struct sched_snapshot *snapshot, struct arena *arena, struct cycle *c);
void sched__asker_init(struct cycle *c, uint32_t job, struct asker *ret_who);
struct wait sched__wait(enum wait_code code);
