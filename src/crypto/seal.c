/* Sealing with libsodium. */
#include "crypto/seal.h"

#include "crypto/digest.h"

#include <sodium.h>

#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES   crypto_aead_xchacha20poly1305_ietf_ABYTES

_Static_assert(SEAL_KEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "size of a key");
_Static_assert(SEAL_OVERHEAD_BYTES == NONCE_BYTES + TAG_BYTES, "what sealing adds");

static const char file_head[] = "euvyra-secret-key-1 ";

static void ensure_sodium(void)
{
    ENSURE(sodium_init() >= 0); /* idempotent and safe from several threads */
}

/* A digest under a purpose of its own, so that the name is good for nothing else. */
static void name_key(struct seal_key *key)
{
    static const char purpose[] = "euvyra: the name of a key for secrets";
    uint8_t digest[(SEAL_KEY_NAME_BYTES - 1) / 2];

    ENSURE(crypto_generichash(digest, sizeof digest, (const uint8_t *)purpose, sizeof purpose,
                              key->bytes, sizeof key->bytes) == 0);
    hex_encode(digest, sizeof digest, key->name);
}

void seal_key_make(struct seal_key *ret_key)
{
    ensure_sodium();
    randombytes_buf(ret_key->bytes, sizeof ret_key->bytes);
    name_key(ret_key);
}

struct str seal_key_text(const struct seal_key *key, struct arena *arena)
{
    char hex[2 * SEAL_KEY_BYTES + 1];
    char *text;

    hex_encode(key->bytes, sizeof key->bytes, hex);
    text = arena_printf(arena, "%s%s\n", file_head, hex);
    sodium_memzero(hex, sizeof hex);
    return str_from(text);
}

enum err_code seal_key_parse(struct str text, struct seal_key *ret_key, struct err *err)
{
    struct seal_key key;
    struct str line = str_trim(text);

    ensure_sodium();
    if (!str_starts(line, STR("euvyra-secret-key-1 ")) ||
        line.len != sizeof file_head - 1 + (size_t)2 * SEAL_KEY_BYTES ||
        !hex_decode(str_n(line.data + sizeof file_head - 1, (size_t)2 * SEAL_KEY_BYTES), key.bytes,
                    sizeof key.bytes))
        return err_set(err, ERR_INVALID, "it holds no key for secrets");
    name_key(&key);
    *ret_key = key;
    sodium_memzero(&key, sizeof key);
    return OK;
}

void seal_key_wipe(struct seal_key *key)
{
    sodium_memzero(key, sizeof *key);
}

struct str seal_close(const struct seal_key *key, struct str about, struct str text,
                      struct arena *arena)
{
    uint8_t *out = arena_alloc(arena, text.len + SEAL_OVERHEAD_BYTES);
    unsigned long long len = 0;

    ensure_sodium();
    randombytes_buf(out, NONCE_BYTES);
    ENSURE(crypto_aead_xchacha20poly1305_ietf_encrypt(
               out + NONCE_BYTES, &len, (const uint8_t *)text.data, text.len,
               (const uint8_t *)about.data, about.len, NULL, out, key->bytes) == 0);
    return str_n((const char *)out, NONCE_BYTES + (size_t)len);
}

enum err_code seal_open(const struct seal_key *key, struct str about, struct str sealed,
                        struct arena *arena, struct str *ret_text, struct err *err)
{
    const uint8_t *in = (const uint8_t *)sealed.data;
    unsigned long long len = 0;
    uint8_t *out;

    ensure_sodium();
    if (sealed.len < SEAL_OVERHEAD_BYTES)
        return err_set(err, ERR_INVALID, "what was sealed is cut short");
    out = arena_alloc(arena, sealed.len - SEAL_OVERHEAD_BYTES + 1); /* ends with a NUL */
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, &len, NULL, in + NONCE_BYTES, sealed.len - NONCE_BYTES,
            (const uint8_t *)about.data, about.len, in, key->bytes) != 0)
        return err_set(err, ERR_INVALID, "it was sealed with another key, or was changed");
    *ret_text = str_n((const char *)out, (size_t)len);
    return OK;
}
