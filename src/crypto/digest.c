/* SHA-256 by OpenSSL's EVP, which uses the CPU's own instructions. */
#include "crypto/digest.h"

#include "base/mem.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

struct sha256_state {
    EVP_MD_CTX *ctx;
};

struct sha256_state *sha256_new(void)
{
    struct sha256_state *state = MEM_NEW(struct sha256_state);

    state->ctx = EVP_MD_CTX_new();
    ENSURE(state->ctx && EVP_DigestInit_ex(state->ctx, EVP_sha256(), NULL) == 1);
    return state;
}

void sha256_add(struct sha256_state *state, const void *data, size_t len)
{
    if (len > 0)
        ENSURE(EVP_DigestUpdate(state->ctx, data, len) == 1);
}

void sha256_finish(struct sha256_state *state, uint8_t ret_digest[SHA256_BYTES])
{
    unsigned len = 0;

    ENSURE(EVP_DigestFinal_ex(state->ctx, ret_digest, &len) == 1 && len == SHA256_BYTES);
    sha256_free(state);
}

void sha256_free(struct sha256_state *state)
{
    if (!state)
        return;
    EVP_MD_CTX_free(state->ctx);
    mem_free(state);
}

void sha256(const void *data, size_t len, uint8_t ret_digest[SHA256_BYTES])
{
    struct sha256_state *state = sha256_new();

    sha256_add(state, data, len);
    sha256_finish(state, ret_digest);
}

void hex_encode(const uint8_t *data, size_t len, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        ret_text[2 * i] = digits[data[i] >> 4];
        ret_text[2 * i + 1] = digits[data[i] & 15];
    }
    ret_text[2 * len] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_decode(struct str text, uint8_t *ret_data, size_t len)
{
    if (text.len != 2 * len)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (hex_digit(text.data[i]) < 0)
            return false;
    }
    for (size_t i = 0; i < len; i++)
        ret_data[i] = (uint8_t)(hex_digit(text.data[2 * i]) << 4 | hex_digit(text.data[2 * i + 1]));
    return true;
}

bool bytes_equal_const(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}
