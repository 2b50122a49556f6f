/* Where the key of secrets comes from. */
#include "server/seal_key.h"

#include "base/log.h"
#include "domain/secrets/secrets.h"
#include "sys/file.h"

#include <sys/stat.h>

static enum err_code read_key(const char *path, struct seal_key *ret_key, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    enum err_code code;
    struct stat st;

    TRY(file_read(path, SEAL_KEY_FILE_BYTES, &text, err));
    if (stat(path, &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO))) {
        (void)err_set(err, ERR_INVALID, "the key file %s can be read by others", path);
        err_hint(err, "chmod 600 %s", path);
        return ERR_INVALID;
    }
    code = seal_key_parse(buf_str(&text), ret_key, err);
    if (code != OK)
        err_prefix(err, "%s", path);
    return code;
}

static enum err_code make_key(const char *path, struct seal_key *ret_key, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};

    seal_key_make(ret_key);
    return file_write_atomic(path, seal_key_text(ret_key, &arena), 0600, err);
}

enum err_code seal_key_load(struct server *server, struct cmd *cmd, struct err *err)
{
    const char *given = server->options.secret_key_file;
    const char *path =
        given ? given : arena_printf(cmd->arena, "%s/secret.key", server->options.data_dir);
    struct str foreign;

    TRY(secrets_foreign_key(cmd, &foreign, err)); /* without a key: any that something needs */
    if (given || file_exists(path)) {
        TRY(read_key(path, &server->seal_key, err));
        server->domain.seal_key = &server->seal_key;
    } else if (!foreign.len) {
        TRY(make_key(path, &server->seal_key, err));
        server->domain.seal_key = &server->seal_key;
    }
    TRY(secrets_foreign_key(cmd, &foreign, err));
    if (foreign.len)
        log_warn("secrets.key_missing", "needed", arena_text(cmd->arena, foreign), "have",
                 server->domain.seal_key ? server->seal_key.name : "none", "file", path);
    return OK;
}
