/* From the name that a job gives to the one image that it means: the tag is resolved to a digest
 * once, and the image is brought here. thread: the attempt's; may block */
#pragma once

#include "drivers/executor/docker/engine.h"
#include "ports/executor.h"

struct image_request {
    const char *name;          /* "python:3.13", "registry.example.org/team/train@sha256:..." */
    const char *user, *secret; /* for its registry; NULL: none */
    const char *machine, *os;  /* what the engine runs: "amd64", "linux" */
    int64_t patience_ms;       /* for a registry that is away */
    bool (*keep_going)(void *ctx);
    void (*tell)(void *ctx, const char *progress); /* "pulling: 412 of 1,300 MB" */
    void *ctx;
};

/* *ret_image: "NAME@sha256:..."; of an image that never was in a registry its id, "sha256:...".
 * ERR_INVALID: no image can have this name. ERR_NOT_FOUND: there is none. ERR_FORBIDDEN: the
 * registry refuses it. ERR_UNPROCESSABLE: it is for another kind of machine. ERR_UNAVAILABLE: the
 * registry or the engine was away longer than the patience. ERR_DISK_FULL. ERR_TIMEOUT: keep_going
 * said no. */
MUST_CHECK enum err_code image_resolve(struct engine *engine, const struct image_request *request,
                                       char ret_image[EXECUTOR_IMAGE_BYTES], struct err *err);

/* ---- Pure parts, for their test */

struct image_name {
    struct str repository; /* "registry.example.org/team/train" */
    struct str reference;  /* the tag ("latest" where none is given), or "sha256:..." */
    bool by_digest;
};

/* False when it is empty, too long, or holds white space or control characters. */
bool image_name_parse(struct str text, struct image_name *ret_name);
/* Where its credential is for: "registry.example.org", Docker's own where none is named. */
struct str image_registry(const struct image_name *name);
/* What kind of trouble a message of engine or registry is; ERR_UNAVAILABLE: it may pass. */
enum err_code image_trouble(int status, const char *message);
