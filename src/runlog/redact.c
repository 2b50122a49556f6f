/* The tricky part is that this works on raw text in one pass, without memory: inside JSON the
 * patterns are looked for in the escaped form, which is fine because every pattern is plain ASCII.
 * Each replacement needs at least two bytes of input, so the output bound of the header holds. */
#include "runlog/redact.h"

#include <string.h>

#define MARK     "[redacted]"
#define MARK_LEN (sizeof MARK - 1)

/* Ends of names, in lower case with everything but letters and digits taken out. */
static const char *const secret_endings[] = {
    "password",      "passwd",      "passphrase",    "secret",           "apikey",
    "secretkey",     "privatekey",  "accesskey",     "accountkey",       "signingkey",
    "accesstoken",   "authtoken",   "bearertoken",   "refreshtoken",     "apitoken",
    "hftoken",       "githubtoken", "gitlabtoken",   "sessiontoken",     "wandbkey",
    "credential",    "credentials", "authorization", "clientsecret",     "secretaccesskey",
    "personaltoken", "bottoken",    "sastoken",      "connectionstring",
};
static const char *const secret_names[] = {"token", "pwd", "pass", "auth", "cookie", "bearer"};

/* Access keys of services, known by their beginning. */
static const struct {
    const char *prefix;
    size_t more_bytes_min;
} key_prefixes[] = {
    {"euv_", 24},        {"hf_", 30},    {"ghp_", 30},  {"gho_", 30},  {"ghs_", 30},
    {"github_pat_", 30}, {"glpat-", 20}, {"xoxb-", 20}, {"xoxp-", 20}, {"AKIA", 16},
    {"ASIA", 16},        {"sk-", 32},    {"AIza", 35},
};

struct redact_out {
    char *data;
    size_t len;
    uint32_t count;
};

static void out_add(struct redact_out *out, const char *data, size_t len)
{
    memcpy(out->data + out->len, data, len);
    out->len += len;
}

static void out_mark(struct redact_out *out)
{
    out_add(out, MARK, MARK_LEN);
    out->count++;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

bool runlog_name_is_secret(const char *name, size_t len)
{
    char plain[64];
    size_t plain_len = 0;

    /* Only the end of a name decides, so a long one loses its beginning. */
    for (size_t i = len > sizeof plain ? len - sizeof plain : 0; i < len; i++) {
        char c = name[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            plain[plain_len++] = c;
    }
    for (size_t i = 0; i < sizeof secret_endings / sizeof *secret_endings; i++) {
        size_t n = strlen(secret_endings[i]);
        if (plain_len >= n && memcmp(plain + plain_len - n, secret_endings[i], n) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof secret_names / sizeof *secret_names; i++)
        if (plain_len == strlen(secret_names[i]) && memcmp(plain, secret_names[i], plain_len) == 0)
            return true;
    return false;
}

static bool at_text(const char *p, size_t left, const char *text)
{
    size_t n = strlen(text);
    return left >= n && memcmp(p, text, n) == 0;
}

/* Bytes of an access key at `p`, or 0. */
static size_t match_key(const char *p, size_t left)
{
    for (size_t i = 0; i < sizeof key_prefixes / sizeof *key_prefixes; i++) {
        size_t n = strlen(key_prefixes[i].prefix);
        if (!at_text(p, left, key_prefixes[i].prefix))
            continue;
        size_t end = n;
        while (end < left && is_word(p[end]))
            end++;
        if (end - n >= key_prefixes[i].more_bytes_min)
            return end;
    }
    return 0;
}

/* Bytes of a private key in PEM at `p`, up to its end or the end of the text, or 0. */
static size_t match_pem(const char *p, size_t left)
{
    static const char begin[] = "-----BEGIN ";
    static const char title[] = "PRIVATE KEY-----";
    size_t at = sizeof begin - 1;

    if (!at_text(p, left, begin))
        return 0;
    while (at < left && at < 64 && ((p[at] >= 'A' && p[at] <= 'Z') || p[at] == ' ') &&
           !at_text(p + at, left - at, title))
        at++;
    if (!at_text(p + at, left - at, title))
        return 0;
    at += sizeof title - 1;
    for (; at < left; at++)
        if (at_text(p + at, left - at, title))
            return at + sizeof title - 1;
    return left;
}

/* `p` is behind "://": bytes of user info that holds a secret, without the '@', or 0. A bare user
 * name is a secret only in http and https URLs, where services take keys as user names. */
static size_t match_userinfo(const char *p, size_t left, bool is_http)
{
    bool has_colon = false;

    for (size_t i = 0; i < left && i < 512; i++) {
        if (p[i] == '@')
            return i > 0 && (has_colon || is_http) ? i : 0;
        if (p[i] == ':')
            has_colon = true;
        else if (p[i] == '/' || p[i] == '?' || p[i] == '#' || p[i] == '"' || p[i] == '\\' ||
                 (unsigned char)p[i] <= ' ')
            return 0;
    }
    return 0;
}

static bool ends_with_http(const char *text, size_t len)
{
    return (len >= 4 && memcmp(text + len - 4, "http", 4) == 0) ||
           (len >= 5 && memcmp(text + len - 5, "https", 5) == 0);
}

static void redact_into(struct redact_out *out, const char *text, size_t len)
{
    size_t i = 0;

    while (i < len) {
        const char *p = text + i;
        size_t left = len - i;
        size_t secret = 0;
        if (i == 0 || !is_word(p[-1]))
            secret = match_key(p, left);
        if (secret == 0 && *p == '-')
            secret = match_pem(p, left);
        if (secret > 0) {
            out_mark(out);
            i += secret;
            continue;
        }
        if (at_text(p, left, "://")) {
            secret = match_userinfo(p + 3, left - 3, ends_with_http(text, i));
            out_add(out, "://", 3);
            if (secret > 0)
                out_mark(out);
            i += 3 + secret;
            continue;
        }
        out_add(out, p, 1);
        i++;
    }
}

size_t runlog_redact_text(const char *text, size_t len, char *ret_text, uint32_t *count)
{
    struct redact_out out = {.data = ret_text};

    redact_into(&out, text, len);
    *count += out.count;
    return out.len;
}

size_t runlog_redact_arg(const char *previous, const char *arg, char *ret_text, uint32_t *count)
{
    struct redact_out out = {.data = ret_text};
    size_t len = strlen(arg);
    const char *equals = memchr(arg, '=', len);

    if (previous != NULL && previous[0] == '-' && strchr(previous, '=') == NULL && arg[0] != '-' &&
        len >= 2 && runlog_name_is_secret(previous, strlen(previous))) {
        out_mark(&out);
    } else if (equals != NULL && equals[1] != '\0' &&
               runlog_name_is_secret(arg, (size_t)(equals - arg))) {
        out_add(&out, arg, (size_t)(equals - arg) + 1);
        out_mark(&out);
    } else {
        redact_into(&out, arg, len);
    }
    *count += out.count;
    return out.len;
}

/* Behind the closing quote of the string that starts at `at`. */
static size_t skip_string(const char *json, size_t len, size_t at)
{
    for (at++; at < len && json[at] != '"'; at++)
        if (json[at] == '\\')
            at++;
    return at < len ? at + 1 : len;
}

static size_t skip_space(const char *json, size_t len, size_t at)
{
    while (at < len && (unsigned char)json[at] <= ' ')
        at++;
    return at;
}

/* Behind the value that starts at `at`: a string, a container with all that is in it, a number. */
static size_t skip_value(const char *json, size_t len, size_t at)
{
    size_t depth = 0;

    while (at < len) {
        char c = json[at];
        if (c == '"') {
            at = skip_string(json, len, at);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']' || c == ',') {
            if (depth == 0)
                return at;
            depth -= c == ',' ? 0 : 1;
            at++;
        } else {
            at++;
            continue;
        }
        if (depth == 0 && c != ',')
            return at;
    }
    return at;
}

static bool value_may_be_secret(const char *json, size_t len, size_t at)
{
    if (at >= len || at_text(json + at, len - at, "\"\""))
        return false;
    return strchr("\"{[-0123456789", json[at]) != NULL;
}

size_t runlog_redact_json(const char *json, size_t len, char *ret_json, uint32_t *count)
{
    struct redact_out out = {.data = ret_json};
    size_t at = 0;

    while (at < len) {
        if (json[at] != '"') {
            out_add(&out, json + at, 1);
            at++;
            continue;
        }
        size_t end = skip_string(json, len, at);
        size_t inner = end - at >= 2 ? end - at - 2 : 0;
        size_t value = skip_space(json, len, end);
        bool is_key = value < len && json[value] == ':';
        bool secret_key = is_key && runlog_name_is_secret(json + at + 1, inner);
        if (is_key)
            out_add(&out, json + at, end - at);
        else
            redact_into(&out, json + at, end - at);
        at = end;
        if (!secret_key)
            continue;
        value = skip_space(json, len, value + 1);
        out_add(&out, json + end, value - end);
        at = value;
        if (value_may_be_secret(json, len, value)) {
            out_add(&out, "\"", 1);
            out_mark(&out);
            out_add(&out, "\"", 1);
            at = skip_value(json, len, value);
        }
    }
    *count += out.count;
    return out.len;
}
