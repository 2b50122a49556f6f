/* What an administrator may give as a database. Nothing of it is repeated in an error: it may hold
 * a password, and so may libpq's complaint about it. */
#include "base/mem.h"
#include "store/libpq.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

static bool is_uri(struct str text)
{
    return str_starts(text, STR("postgresql://")) || str_starts(text, STR("postgres://"));
}

static enum err_code refuse_password(struct err *err)
{
    (void)err_set(err, ERR_INVALID, "--database holds a password, which others could see");
    err_hint(err, "put the text into a file of mode 0600 and give --database-file, or use a "
                  "password file (PGPASSFILE)");
    return ERR_INVALID;
}

static bool has_secret(const PQconninfoOption *options)
{
    for (const PQconninfoOption *o = options; o->keyword; o++)
        if (o->val &&
            (strcmp(o->keyword, "password") == 0 || strcmp(o->keyword, "sslpassword") == 0))
            return true;
    return false;
}

enum err_code store_where_postgres(struct str text, bool is_secret, char **ret_where,
                                   struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *conninfo = arena_text(&arena, text);
    PQconninfoOption *options;
    char *said = NULL;
    bool secret;

    TRY(libpq_load(err));
    options = libpq.PQconninfoParse(conninfo, &said);
    libpq.PQfreemem(said);
    if (!options || text.len == 0) {
        libpq.PQconninfoFree(options);
        (void)err_set(err, ERR_INVALID, "%s is not a PostgreSQL connection string",
                      is_secret ? "the content of --database-file" : "--database");
        err_hint(err, "for example postgresql://euvyra@db.example.org/euvyra?sslmode=verify-full");
        return ERR_INVALID;
    }
    secret = has_secret(options);
    libpq.PQconninfoFree(options);
    if (secret && !is_secret)
        return refuse_password(err);
    *ret_where =
        mem_copy_text(is_uri(text) ? conninfo : arena_printf(&arena, "postgresql:%s", conninfo));
    return OK;
}
