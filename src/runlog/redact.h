/* Keeps secrets out of the run log, before they are written: values of keys that name a secret,
 * access keys of Euvyra and of well-known services, user and password in URLs, private keys in
 * PEM. What is taken out becomes "[redacted]". thread: any */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True for names like password, api_key, apiKey, HF_TOKEN, client-secret; false for pad_token or
 * max_tokens: training configurations are full of tokens that are no secret. */
bool runlog_name_is_secret(const char *name, size_t len);

/* The output is at most this long for an input of `len` bytes. */
#define RUNLOG_REDACTED_BYTES_MAX(len) ((len)*6 + 16)

/* Copies `text` without secrets. Returns the bytes written; *count grows by what was taken out.
 * `ret_text` has room for RUNLOG_REDACTED_BYTES_MAX(len). */
size_t runlog_redact_text(const char *text, size_t len, char *ret_text, uint32_t *count);

/* As runlog_redact_text for one argument of a command: also hides the value in --password=x,
 * API_KEY=x, and the whole argument when `previous` (may be NULL) is --password, -token ... */
size_t runlog_redact_arg(const char *previous, const char *arg, char *ret_text, uint32_t *count);

/* Copies a JSON text: members with a secret name lose their value (true, false and null stay),
 * every string goes through runlog_redact_text. Text that is not JSON is copied the same way as
 * far as it goes: the result is never less safe, and the reader refuses it anyway. */
size_t runlog_redact_json(const char *json, size_t len, char *ret_json, uint32_t *count);
