/* Brings the readings of the machine to the server, on a thread of its own with a connection of its
 * own, so that a long poll holds up no reading. While the server is away they wait (gpus.h).
 * thread: main */
#pragma once

#include "agent/gpus.h"
#include "net/http_client.h"

#include <stdatomic.h>

struct node_report;

struct node_report_options {
    struct http_client_options client;
    struct agent_gpus *gpus; /* borrowed */
    struct id agent;
    const char *boot;          /* of this process; borrowed */
    _Atomic bool *agent_stops; /* then calls end; borrowed */
};

MUST_CHECK enum err_code node_report_new(struct node_report **ret_report,
                                         const struct node_report_options *options,
                                         struct err *err);
void node_report_free(struct node_report *report); /* joins within a second or so; accepts NULL */
