/* Sealing of short texts with XChaCha20-Poly1305: a random nonce of 24 bytes, then what was sealed,
 * then 16 bytes by which a change of anything is noticed. `about` is bound to it without being in
 * it: what was sealed about one thing does not open about another. thread: any */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define SEAL_KEY_BYTES      32
#define SEAL_KEY_NAME_BYTES 17  /* with the NUL */
#define SEAL_KEY_FILE_BYTES 200 /* more than a file of a key has */
#define SEAL_OVERHEAD_BYTES 40

struct seal_key {
    uint8_t bytes[SEAL_KEY_BYTES];
    char name[SEAL_KEY_NAME_BYTES]; /* tells keys apart and says nothing of their bytes */
};

void seal_key_make(struct seal_key *ret_key);
/* As the text of a file, and back. ERR_INVALID: it holds no key. Its words never quote the text. */
struct str seal_key_text(const struct seal_key *key, struct arena *arena);
MUST_CHECK enum err_code seal_key_parse(struct str text, struct seal_key *ret_key, struct err *err);
void seal_key_wipe(struct seal_key *key);

struct str seal_close(const struct seal_key *key, struct str about, struct str text,
                      struct arena *arena);
/* ERR_INVALID: it was sealed with another key or about something else, or was changed. */
MUST_CHECK enum err_code seal_open(const struct seal_key *key, struct str about, struct str sealed,
                                   struct arena *arena, struct str *ret_text, struct err *err);
