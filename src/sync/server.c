/* From options and environment to a client. The key may lie in a file so that it stands in no
 * environment listing. */
#include "sync/server.h"

#include "base/mem.h"
#include "sys/file.h"

#include <stdlib.h>
#include <string.h>

#define KEY_FILE_BYTES_MAX 4096u
#define CONNECT_TIMEOUT_MS 10000

static const char *environment(const char *value, const char *variable)
{
    const char *text = value != NULL ? value : getenv(variable);

    return text != NULL && text[0] != '\0' ? text : NULL;
}

static enum err_code read_key(const char *given, char **ret_key, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    const char *path = given == NULL ? environment(NULL, "EUVYRA_API_KEY_FILE") : NULL;

    if (path == NULL) {
        *ret_key = mem_copy_text(environment(given, "EUVYRA_API_KEY"));
        return OK;
    }
    TRY(file_read(path, KEY_FILE_BYTES_MAX, &text, err));
    struct str key = str_trim(buf_str(&text));
    *ret_key = mem_alloc(key.len + 1);
    memcpy(*ret_key, key.data, key.len);
    return OK;
}

enum err_code sync_server_connect(const struct sync_server *server, const char *run_url,
                                  struct http_client **ret_client, struct err *err)
{
    CLEANUP(mem_free_text) char *key = NULL;
    const char *url = environment(server->url, "EUVYRA_SERVER");

    if (url == NULL && run_url != NULL && run_url[0] != '\0')
        url = run_url;
    if (url == NULL) {
        (void)err_set(err, ERR_NOT_FOUND, "no server is known");
        err_hint(err, "set EUVYRA_SERVER or log in with: euvyra login URL");
        return ERR_NOT_FOUND;
    }
    TRY(read_key(server->key_text, &key, err));
    return http_client_new(
        ret_client,
        &(struct http_client_options){
            .base_url = url,
            .key_text = key,
            .ca_file = environment(server->ca_file, "EUVYRA_CA"),
            .product = server->product != NULL ? server->product : "euvyra-sync/0.1.0",
            .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        },
        err);
}
