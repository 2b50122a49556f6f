/* `euvyra exec -- CMD`: runs a command as a run of its own: console text, exit code, signal, system
 * load, with or without the SDK inside. As the parent it knows for sure how the command ended.
 * may block; thread: main, before any other thread exists */
#pragma once

#include "base/str.h"
#include "sync/server.h"

struct exec_options {
    struct sync_server server;
    const char *const *argv; /* NULL-terminated */
    const char *project;     /* NULL: EUVYRA_PROJECT, then "default" */
    const char *name;        /* NULL: the command's first word */
    const char *dir;         /* NULL: EUVYRA_DIR, then "euvyra-runs" */
    const char *mode;        /* NULL: EUVYRA_MODE, then "online" */
    const char *const *env;  /* "NAME=value" that go over ours, NULL-terminated; NULL: none */
    struct str config;       /* JSON object that is recorded and given to the SDK; len 0: none */
    struct str tags, notes;  /* JSON records of them (docs/internals/run-log.md); len 0: none */
    const char *program; /* this program's own path, to start the sidecar; NULL: /proc/self/exe */
};

/* *ret_exit_code: the command's own, 128 + n after signal n, 127 when it was not found, 126 when it
 * could not be started. The error is about our own failures alone: no folder, no memory. */
MUST_CHECK enum err_code exec_run(const struct exec_options *options, int *ret_exit_code,
                                  struct err *err);
