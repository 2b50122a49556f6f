/* The functions of libpq by their names. */
#include "store/libpq.h"

#include "base/macros.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct libpq libpq;

static const struct function {
    const char *name;
    size_t at; /* in struct libpq */
} functions[] = {
#define LIBPQ_FUNCTION(name) {#name, offsetof(struct libpq, name)},
    LIBPQ_FUNCTIONS(LIBPQ_FUNCTION)
#undef LIBPQ_FUNCTION
};

enum err_code libpq_load(struct err *err)
{
    static bool is_loaded;
    void *library = is_loaded ? NULL : dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);

    if (is_loaded)
        return OK;
    for (size_t i = 0; library && i < ARRAY_LEN(functions); i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function)
            library = NULL; /* what is loaded stays: the program ends */
        memcpy((char *)&libpq + functions[i].at, &function, sizeof function);
    }
    if (!library) {
        (void)err_set(err, ERR_UNAVAILABLE,
                      "PostgreSQL needs its client library libpq 14 or newer");
        err_hint(err, "install it, on Debian with: apt install libpq5");
        return ERR_UNAVAILABLE;
    }
    is_loaded = true;
    return OK;
}
