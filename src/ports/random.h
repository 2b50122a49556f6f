/* The port for random bytes, so that rules and simulators choose where they come from.
 * thread: as the implementation says */
#pragma once

#include "base/id.h"

struct random_port {
    void (*fill)(void *ctx, void *ret_bytes, size_t len);
    void *ctx;
};

static inline struct id random_port_id(const struct random_port *port, enum id_kind kind)
{
    uint64_t bits;
    port->fill(port->ctx, &bits, sizeof bits);
    return id_make(kind, bits);
}
