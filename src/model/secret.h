/* Secrets of projects: everything about them but what they are. thread: any */
#pragma once

#include "base/str.h"
#include "base/timeval.h"
#include "model/ids.h"

#define SECRET_NAME_BYTES_MAX  63
#define SECRET_VALUE_BYTES_MAX (64u * 1024)
#define SECRETS_MAX            1000 /* of a project */

struct secret {
    secret_id id;
    project_id project;
    struct str name, made_by; /* made_by: as in audit rows, "user:ada" */
    struct str key_name;      /* of the key that sealed it */
    time_ms made, used;       /* used: TIME_NONE */
};
