/* Passwords (Argon2id) and access keys.
 *
 * A key is text `euv_<kind>_<public id>_<secret><checksum>`: kind is user, agent, job, service or
 * setup; the public id is an ID_KEY id; the secret is 256 random bits in base62 (43 characters);
 * the checksum is the CRC-32 of all before it in base62 (6 characters), so that a typo or a scanner
 * finds out without asking the server. The server keeps SHA-256 of the whole text. */
#pragma once

#include "base/err.h"
#include "base/id.h"
#include "crypto/digest.h"

#define KEY_KIND_BYTES 12
#define KEY_TEXT_BYTES 96 /* with the NUL */

struct key_text {
    char kind[KEY_KIND_BYTES];
    struct id public_id;
    char text[KEY_TEXT_BYTES];
    uint8_t hash[SHA256_BYTES];
};

/* A new key with fresh random bits. `kind` is one of the names above. thread: any */
void key_make(const char *kind, struct key_text *ret_key);
/* Shape and checksum only: whether the key is known is the caller's question. thread: any */
bool key_parse(struct str text, struct key_text *ret_key);
/* 32 random bytes in base62 for browser sessions and tokens, and their hash. */
void token_make(char ret_text[44], uint8_t ret_hash[SHA256_BYTES]);

#define PASSWORD_HASH_BYTES 128
/* Argon2id, 2 passes, 64 MiB: about 70 ms. may block: worker only. ERR_UNAVAILABLE: no memory. */
MUST_CHECK enum err_code password_hash(struct str password, char ret_text[PASSWORD_HASH_BYTES],
                                       struct err *err);
/* may block: worker only */
bool password_matches(const char *hash_text, struct str password);
/* Does the work of a check that fails, for users who do not exist. may block: worker only */
void password_waste(void);
