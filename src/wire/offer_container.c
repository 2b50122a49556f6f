/* Reading and writing the parts of an offer that are about its container. */
#include "wire/offer_container.h"

#define NUMBER_MAX       INT64_C(9007199254740991)
#define IMAGE_BYTES_MAX  500
#define PATH_BYTES_MAX   1024
#define CLAIM_BYTES_MAX  253
#define SECRET_BYTES_MAX WIRE_SECRET_BYTES_MAX

enum err_code wire_offer_container(struct arena *arena, const struct wire_offer *offer,
                                   struct wire_container *ret_container, struct err *err)
{
    CLEANUP(json_release) json_t *extra = NULL;
    struct wire_container c = {.launcher = STR("exec")};
    struct json_reader r;

    if (offer->extra.len) {
        TRY(json_parse(offer->extra, WIRE_MESSAGE_BYTES_MAX, &extra, err));
        json_reader_init(&r, extra, "extra.", err);
        json_take_text_opt(&r, "image", IMAGE_BYTES_MAX, &c.image);
        json_take_text_opt(&r, "launcher", 32, &c.launcher);
        json_take_i64_opt(&r, "shm_bytes", 0, NUMBER_MAX, &c.shm_bytes);
        json_take_i64_opt(&r, "disk_bytes", 0, NUMBER_MAX, &c.disk_bytes);
        json_take_i64_opt(&r, "pids", 0, NUMBER_MAX, &c.pids);
        json_take_bool_opt(&r, "read_only_root", &c.read_only_root);
        TRY(json_reader_end_open(&r));
        c.image = arena_copy(arena, c.image);
        c.launcher = arena_copy(arena, c.launcher);
    }
    if (offer->image.len)
        c.image = offer->image;
    *ret_container = c;
    return OK;
}

static void put_text(struct json_writer *w, const char *key, struct str text)
{
    if (!text.len)
        return;
    json_put_key(w, key);
    json_put_str(w, text);
}

void wire__container_encode(const struct wire_offer *offer, struct json_writer *w)
{
    if (offer->mount_count) {
        json_put_key(w, "mounts");
        json_begin_array(w);
        for (size_t i = 0; i < offer->mount_count; i++) {
            const struct wire_mount *m = &offer->mounts[i];

            json_begin_object(w);
            put_text(w, "host_path", m->host_path);
            put_text(w, "claim", m->claim);
            put_text(w, "path", m->path);
            json_put_key(w, "read_only");
            json_put_bool(w, m->read_only);
            json_end_object(w);
        }
        json_end_array(w);
    }
    put_text(w, "image", offer->image);
    if (offer->registry_user.len) {
        json_put_key(w, "registry");
        json_begin_object(w);
        put_text(w, "user", offer->registry_user);
        put_text(w, "secret", offer->registry_secret);
        json_end_object(w);
    }
}

/* Absolute, and nowhere else than it says. */
static bool path_is_plain(struct str path)
{
    struct str rest = path, part;
    bool more = true;

    if (path.len < 2 || path.data[0] != '/')
        return false;
    while (more) {
        more = str_cut(&rest, '/', &part);
        if (str_eq_c(part, "..") || str_eq_c(part, "."))
            return false;
    }
    return true;
}

static enum err_code refuse_mount(struct str path, struct err *err)
{
    return err_set_field(err, ERR_INVALID, "mounts", "mounts: \"%.*s\" is not usable",
                         (int)MIN(path.len, 200), path.data ? path.data : "");
}

static enum err_code take_mount(struct arena *arena, json_t *object, struct wire_mount *ret_mount,
                                struct err *err)
{
    struct wire_mount m = {0};
    struct json_reader r;

    json_reader_init(&r, object, "mounts.", err);
    json_take_text_opt(&r, "host_path", PATH_BYTES_MAX, &m.host_path);
    json_take_text_opt(&r, "claim", CLAIM_BYTES_MAX, &m.claim);
    json_take_text(&r, "path", PATH_BYTES_MAX, &m.path);
    json_take_bool_opt(&r, "read_only", &m.read_only);
    TRY(json_reader_end_open(&r));
    if (m.host_path.len && !path_is_plain(m.host_path))
        return refuse_mount(m.host_path, err);
    if ((m.host_path.len > 0) == (m.claim.len > 0) || !path_is_plain(m.path))
        return refuse_mount(m.path, err);
    m.host_path = arena_copy(arena, m.host_path);
    m.claim = arena_copy(arena, m.claim);
    m.path = arena_copy(arena, m.path);
    *ret_mount = m;
    return OK;
}

enum err_code wire__container_take(struct arena *arena, json_t *mounts, json_t *registry,
                                   struct wire_offer *offer, struct err *err)
{
    struct wire_mount *list = arena_array(arena, json_array_size(mounts), sizeof(list[0]));
    struct json_reader r;

    offer->mount_count = json_array_size(mounts);
    offer->mounts = list;
    for (size_t i = 0; i < offer->mount_count; i++)
        TRY(take_mount(arena, json_array_get(mounts, i), &list[i], err));
    if (!registry)
        return OK;
    json_reader_init(&r, registry, "registry.", err);
    json_take_text(&r, "user", SECRET_BYTES_MAX, &offer->registry_user);
    json_take_text(&r, "secret", SECRET_BYTES_MAX, &offer->registry_secret);
    TRY(json_reader_end_open(&r));
    offer->registry_user = arena_copy(arena, offer->registry_user);
    offer->registry_secret = arena_copy(arena, offer->registry_secret);
    return OK;
}
