/* What an offer says about the container that its job runs in. thread: any */
#pragma once

#include "wire/agent_messages.h"

struct wire_container {
    struct str image;    /* len 0: the executor's own */
    struct str launcher; /* "exec", "torchrun", "deepspeed" */
    int64_t shm_bytes, disk_bytes, pids;
    bool read_only_root;
};

/* From `extra` of the offer; the texts live in the arena. ERR_INVALID. */
MUST_CHECK enum err_code wire_offer_container(struct arena *arena, const struct wire_offer *offer,
                                              struct wire_container *ret_container,
                                              struct err *err);

/* Members of the offer itself: `mounts`, and `registry` with a user and a secret. */
void wire__container_encode(const struct wire_offer *offer, struct json_writer *w);
MUST_CHECK enum err_code wire__container_take(struct arena *arena, json_t *mounts, json_t *registry,
                                              struct wire_offer *offer, struct err *err);
