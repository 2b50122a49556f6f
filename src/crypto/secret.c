/* Keys and passwords. A key's last six characters are a CRC-32 of all before them, so that a typo
 * or a secret scanner finds out without asking the server; its strength is the 256 random bits. */
#include "crypto/secret.h"

#include "base/str.h"

#include <sodium.h>
#include <stdio.h>

#define SECRET_BYTES    32
#define SECRET_CHARS    43 /* ceil(256 / log2(62)) */
#define CHECKSUM_CHARS  6  /* ceil(32 / log2(62)) */
#define PASSWORD_PASSES 2
#define PASSWORD_MEMORY (64u * 1024u * 1024u)

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static const struct key_kind {
    const char *name;
    enum id_kind id_kind;
} key_kinds[] = {
    {"user", ID_KEY}, {"agent", ID_KEY}, {"job", ID_KEY}, {"service", ID_KEY}, {"setup", ID_KEY},
};

static void ensure_sodium(void)
{
    ENSURE(sodium_init() >= 0); /* idempotent and safe from several threads */
}

static const struct key_kind *key_kind_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(key_kinds); i++) {
        if (str_eq_c(name, key_kinds[i].name))
            return &key_kinds[i];
    }
    return NULL;
}

static uint32_t crc32_of(struct str text)
{
    uint32_t crc = 0xffffffffu;

    for (size_t i = 0; i < text.len; i++) {
        crc ^= (unsigned char)text.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* A big-endian number as exactly `chars` base62 digits. Destroys the bytes. */
static void base62_encode(uint8_t *bytes, size_t len, char *ret_text, size_t chars)
{
    for (size_t at = chars; at > 0; at--) {
        unsigned rest = 0;

        for (size_t i = 0; i < len; i++) { /* one long division by 62 */
            rest = rest << 8 | bytes[i];
            bytes[i] = (uint8_t)(rest / 62);
            rest %= 62;
        }
        ret_text[at - 1] = base62[rest];
    }
    ret_text[chars] = '\0';
}

static void checksum_encode(struct str text, char ret_text[CHECKSUM_CHARS + 1])
{
    uint32_t crc = crc32_of(text);
    uint8_t bytes[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                        (uint8_t)crc};

    base62_encode(bytes, sizeof(bytes), ret_text, CHECKSUM_CHARS);
}

static void secret_make(char ret_text[SECRET_CHARS + 1])
{
    uint8_t bytes[SECRET_BYTES];

    ensure_sodium();
    randombytes_buf(bytes, sizeof(bytes));
    base62_encode(bytes, sizeof(bytes), ret_text, SECRET_CHARS);
    sodium_memzero(bytes, sizeof(bytes));
}

void key_make(const char *kind, struct key_text *ret_key)
{
    const struct key_kind *known = key_kind_find(str_from(kind));
    char secret[SECRET_CHARS + 1], checksum[CHECKSUM_CHARS + 1];
    uint64_t id_bits;

    ENSURE(known != NULL);
    secret_make(secret);
    randombytes_buf(&id_bits, sizeof(id_bits));
    *ret_key = (struct key_text){.public_id = id_make(known->id_kind, id_bits)};
    (void)snprintf(ret_key->kind, sizeof(ret_key->kind), "%s", known->name);

    int len = snprintf(ret_key->text, sizeof(ret_key->text), "euv_%s_%s_%s", ret_key->kind,
                       ret_key->public_id.text, secret);

    ENSURE(len > 0 && (size_t)len + CHECKSUM_CHARS < sizeof(ret_key->text));
    checksum_encode(str_n(ret_key->text, (size_t)len), checksum);
    memcpy(ret_key->text + len, checksum, sizeof(checksum));
    sha256(ret_key->text, (size_t)len + CHECKSUM_CHARS, ret_key->hash);
    sodium_memzero(secret, sizeof(secret));
}

bool key_parse(struct str text, struct key_text *ret_key)
{
    struct str rest = text, brand, kind, id;
    struct key_text key = {.kind = ""};
    char checksum[CHECKSUM_CHARS + 1];

    if (text.len >= KEY_TEXT_BYTES || !str_cut(&rest, '_', &brand) || !str_cut(&rest, '_', &kind) ||
        !str_cut(&rest, '_', &id) || !str_eq_c(brand, "euv"))
        return false;

    const struct key_kind *known = key_kind_find(kind);

    if (!known || !id_parse(id, known->id_kind, &key.public_id) ||
        rest.len != SECRET_CHARS + CHECKSUM_CHARS)
        return false;
    for (size_t i = 0; i < rest.len; i++) {
        if (!memchr(base62, rest.data[i], sizeof(base62) - 1))
            return false;
    }
    checksum_encode(str_n(text.data, text.len - CHECKSUM_CHARS), checksum);
    if (!str_ends(text, str_from(checksum)))
        return false;
    (void)snprintf(key.kind, sizeof(key.kind), "%s", known->name);
    memcpy(key.text, text.data, text.len);
    sha256(text.data, text.len, key.hash);
    *ret_key = key;
    return true;
}

void token_make(char ret_text[44], uint8_t ret_hash[SHA256_BYTES])
{
    secret_make(ret_text);
    sha256(ret_text, SECRET_CHARS, ret_hash);
}

enum err_code password_hash(struct str password, char ret_text[PASSWORD_HASH_BYTES],
                            struct err *err)
{
    char text[crypto_pwhash_STRBYTES];

    _Static_assert(PASSWORD_HASH_BYTES >= crypto_pwhash_STRBYTES, "room for a hash");
    ensure_sodium();
    if (crypto_pwhash_str_alg(text, password.data, password.len, PASSWORD_PASSES, PASSWORD_MEMORY,
                              crypto_pwhash_ALG_ARGON2ID13) != 0)
        return err_set(err, ERR_UNAVAILABLE, "no memory to hash a password");
    memcpy(ret_text, text, sizeof(text));
    return OK;
}

bool password_matches(const char *hash_text, struct str password)
{
    ensure_sodium();
    return crypto_pwhash_str_verify(hash_text, password.data, password.len) == 0;
}

void password_waste(void)
{
    char text[PASSWORD_HASH_BYTES];
    enum err_code code = password_hash(STR("nobody has this password"), text, NULL);

    (void)code; /* only the time it took matters */
}
