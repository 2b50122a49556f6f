/* Random bytes from the kernel; aborts when it has none. thread: any */
#pragma once

#include "base/id.h"

void random_fill(void *ret_bytes, size_t len);
uint64_t random_u64(void);
struct id random_id(enum id_kind kind);
