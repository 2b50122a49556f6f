/* Shared by the files of the snapshot. Folder-private. thread: the snapshot's owner */
#pragma once

#include "base/map.h"
#include "base/mem.h"
#include "domain/budgets/budgets.h"
#include "domain/jobs/jobs_shape.h"
#include "domain/jobs/jobs_snapshot.h"
#include "model/share.h"

#define SNAPSHOT_JOBS_MAX   10000000
#define SNAPSHOT_SHAPES_MAX 1000000

/* A shape that jobs share. It stays while the snapshot lives, or until the next load. */
struct known_shape {
    uint32_t at;
    uint32_t node_count;
    struct job_need need;
    bool service;
    struct job_shape asks; /* in the arena of shapes */
};

struct known_place {
    agent_id agent;
    int64_t rank_count;
};

struct known_job {
    struct id public_id;
    job_id id;
    project_id project;
    queue_id queue;
    enum job_state state;
    int64_t priority, event_count, timeout_s;
    const struct known_shape *shape;
    attempt_id attempt;
    time_ms attempt_since, started, charged;
    int64_t price_hour_micro, price_gpu_hour_micro;
    target_id target;
    struct known_place *places; /* what its attempt holds; heap */
    size_t place_count, place_ranks;
    job_id array;
    int64_t array_limit, step_from;
    time_ms queued, ladder_at, not_before;
    job_id after; /* the first open job that it comes after; 0: none */
    int64_t after_open;
    bool broken;   /* one of those did not succeed */
    bool reserved; /* room is held for it: it is in every snapshot */
    uint32_t at;   /* place in the list of all */

    /* In which lists it is: those that hold something, those that wait alike, others that wait. */
    size_t holder_at, apart_at; /* NOWHERE */
    struct known_line *line;
    struct known_job *before, *behind; /* in its line */
};

#define NOWHERE SIZE_MAX

/* Jobs that wait alike: of one project, queue, shape, priority and time limit, the oldest first.
 * What keeps the first of them from starting keeps all. */
struct known_line {
    struct known_job *first, *last;
    size_t at; /* place in the list of lines that are not empty */
};

struct job_list {
    struct known_job **items;
    size_t count, room;
};

struct known_agent {
    agent_id id;
    struct str name; /* in the arena of settings */
    target_id target;
    time_ms seen;          /* its last call, as the store has it */
    int64_t heard_mono_ms; /* when that was noticed here */
    bool conflict;         /* two machines call with its key */
    bool maintenance;      /* it is emptied: nothing starts until `maintenance_until` */
    time_ms maintenance_until;
    struct sched_node node;
};

struct jobs_snapshot {
    struct domain_config config;
    struct known_job **jobs;
    size_t job_count, job_room;
    struct job_list holders, apart;
    struct map lines; /* what makes them alike -> struct known_line */
    struct known_line **line_list;
    size_t line_count, line_room;
    struct map by_id;     /* public id -> struct known_job */
    struct map followers; /* public id of an open job that others come after -> struct follower */
    struct map shapes;    /* text of amounts and shape -> struct known_shape */
    struct arena shape_arena;
    const struct known_shape **shape_list;
    size_t shape_count, shape_room;

    struct arena settings; /* what follows, read together */
    struct share *shares;
    struct job_queue *queues;
    struct target *targets;
    struct budget_state *budgets; /* by project: those with a limit */
    size_t budget_count;
    bool settings_old; /* one of these was charged, or a job is of a project or queue that is new */
    size_t share_count, queue_count, target_count;
    int64_t settings_mono_ms;
    char gpu_types[SCHED_GPU_TYPES_MAX][GPU_TYPE_BYTES_MAX + 1]; /* the last: all further ones */
    size_t gpu_type_count;
    struct known_agent *agents; /* by id; heap, as it remembers who was heard when */
    size_t agent_count;

    struct arena kept[2]; /* reservations and evictions, each time from one into the other */
    unsigned kept_at;
    struct sched_reservation *reservations;
    struct sched_eviction *evictions;
    size_t reservation_count, eviction_count;
    struct id *reserved; /* the jobs that are marked so; in the same arena */
    size_t reserved_count;
    time_ms built_at;
    bool built_all;           /* not only the first of those that wait alike */
    uint32_t *built_jobs;     /* place in sched.jobs -> place in jobs */
    uint32_t *built_attempts; /* the same of attempts */
    bool *over_limit;         /* by place in jobs: enough others of its array come before it */
    uint32_t *array_of;       /* by place in jobs: its array in the snapshot; 0: of none */
};

/* The number of a GPU type; a new one gets the next. */
unsigned jobs__gpu_type(struct jobs_snapshot *snapshot, struct str name);
/* Puts the job into the lists where it belongs now; and takes it out of all of them. */
void jobs__lines_put(struct jobs_snapshot *snapshot, struct known_job *job);
void jobs__lines_take(struct jobs_snapshot *snapshot, struct known_job *job);
void jobs__lines_init(struct jobs_snapshot *snapshot);
void jobs__lines_release(struct jobs_snapshot *snapshot);
/* Takes in an open job as it is; and forgets one. The store is read only for what hangs on it: an
 * attempt, jobs that it comes after. */
MUST_CHECK enum err_code jobs__snapshot_take(struct jobs_snapshot *s, struct store *store,
                                             struct arena *arena, const struct job *job,
                                             struct err *err);
void jobs__snapshot_drop(struct jobs_snapshot *s, const struct id *id);
/* Room for one more pointer in a list on the heap. */
void *jobs__list_room(void *items, size_t count, size_t *room);
/* The place of an agent among those sorted by id; NOWHERE. */
size_t jobs__agent_at(const struct known_agent *agents, size_t count, agent_id id);
