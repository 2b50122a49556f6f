/* Row ids, one type a table so that they cannot be swapped. 0 means none. Public ids are
 * `struct id` (base/id.h). */
#pragma once

#include <stdint.h>

typedef struct {
    int64_t v;
} user_id;
typedef struct {
    int64_t v;
} key_id;
typedef struct {
    int64_t v;
} project_id;
typedef struct {
    int64_t v;
} run_id;
typedef struct {
    int64_t v;
} writer_id;
typedef struct {
    int64_t v;
} metric_id;
typedef struct {
    int64_t v;
} target_id;
typedef struct {
    int64_t v;
} agent_id;
typedef struct {
    int64_t v;
} job_id;
typedef struct {
    int64_t v;
} attempt_id;
typedef struct {
    int64_t v;
} share_id;
typedef struct {
    int64_t v;
} queue_id;
typedef struct {
    int64_t v;
} secret_id;
typedef struct {
    int64_t v;
} placement_id;
