/* SHA-256 and hexadecimal. thread: any */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define SHA256_BYTES     32
#define SHA256_HEX_BYTES 65 /* with the NUL */

struct sha256_state; /* EVP context */
struct sha256_state *sha256_new(void);
void sha256_add(struct sha256_state *state, const void *data, size_t len);
void sha256_finish(struct sha256_state *state, uint8_t ret_digest[SHA256_BYTES]); /* and frees it */
void sha256_free(struct sha256_state *state);
void sha256(const void *data, size_t len, uint8_t ret_digest[SHA256_BYTES]);
void hex_encode(const uint8_t *data, size_t len, char *ret_text); /* 2 * len + 1 bytes */
bool hex_decode(struct str text, uint8_t *ret_data,
                size_t len); /* text must be 2 * len lower case */
bool bytes_equal_const(const void *a, const void *b, size_t len); /* constant time */
