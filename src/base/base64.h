/* Base64 (RFC 4648, with padding). thread: any */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

bool base64_add(struct buf *out, struct str bytes); /* false when it would pass the maximum */
/* False when the text is not base64. */
bool base64_decode(struct str text, struct arena *arena, struct str *ret_bytes);
