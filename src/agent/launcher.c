/* Command lines of launchers. */
#include "agent/launcher.h"

#include "base/base64.h"
#include "base/json.h"

#define WORLD_BYTES_MAX (1024 * 1024)

struct command {
    struct arena *arena;
    const char **items;
    size_t count, room;
};

static void add(struct command *c, const char *text)
{
    c->items = arena_more(c->arena, c->items, c->count, &c->room, sizeof(c->items[0]));
    c->items[c->count++] = text;
}

#define ADD(c, ...) add(c, arena_printf((c)->arena, __VA_ARGS__))

static bool is_python(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

    /* "python3.13t", and not "python_train.sh" */
    return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.td")] == '\0';
}

/* Options of the interpreter go on before the launcher's module. *argv: what comes after them. */
static enum err_code add_interpreter(struct command *c, const char *const **argv, struct err *err)
{
    const char *const *at = *argv;

    for (add(c, *at++); *at && (*at)[0] == '-' && strncmp(*at, "-m", 2) != 0; at++) {
        bool takes_value = strcmp(*at, "-X") == 0 || strcmp(*at, "-W") == 0;

        if (strncmp(*at, "-c", 2) == 0 || (*at)[1] == '\0')
            return err_set(err, ERR_UNPROCESSABLE, "a launcher runs a script or a module, not %s",
                           *at);
        add(c, *at);
        if (takes_value && at[1])
            add(c, *++at);
    }
    if (!*at)
        return err_set(err, ERR_UNPROCESSABLE,
                       "a launcher runs a script or a module, and %s has none", (*argv)[0]);
    *argv = at;
    return OK;
}

static void add_torchrun(struct command *c, const struct launch *l)
{
    ADD(c, "--nnodes=%lld", (long long)l->nodes);
    ADD(c, "--nproc_per_node=%lld", (long long)l->processes);
    if (!l->master_addr) {
        add(c, "--standalone");
        return;
    }
    ADD(c, "--node_rank=%lld", (long long)l->rank);
    ADD(c, "--master_addr=%s", l->master_addr);
    ADD(c, "--master_port=%lld", (long long)l->master_port);
}

/* {"0": [0, 1], "1": [0, 1]} in base64: which GPUs each machine has. */
static const char *deepspeed_world(struct arena *arena, const struct launch *l)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&text, WORLD_BYTES_MAX);
    buf_init(&out, 2 * WORLD_BYTES_MAX);
    json_writer_init(&w, &text);
    json_begin_object(&w);
    for (int64_t node = 0; node < l->nodes; node++) {
        json_put_key(&w, arena_printf(arena, "node%lld", (long long)node));
        json_begin_array(&w);
        for (int64_t i = 0; i < l->processes; i++)
            json_put_i64(&w, i);
        json_end_array(&w);
    }
    json_end_object(&w);
    (void)base64_add(&out, buf_str(&text)); /* it has room */
    return arena_text(arena, buf_str(&out));
}

static void add_deepspeed(struct command *c, const struct launch *l)
{
    ADD(c, "--world_info=%s", deepspeed_world(c->arena, l));
    ADD(c, "--node_rank=%lld", (long long)l->rank);
    ADD(c, "--master_addr=%s", l->master_addr ? l->master_addr : "127.0.0.1");
    if (l->master_port)
        ADD(c, "--master_port=%lld", (long long)l->master_port);
}

enum err_code launch_argv(const struct launch *launch, const char *const *argv, struct arena *arena,
                          const char *const **ret_argv, struct err *err)
{
    bool deepspeed = str_eq_c(launch->launcher, "deepspeed");
    struct command c = {.arena = arena};
    bool python = is_python(argv[0]);

    if (str_eq_c(launch->launcher, "exec")) {
        *ret_argv = argv;
        return OK;
    }
    if (python)
        TRY(add_interpreter(&c, &argv, err));
    else
        add(&c, "python3");
    add(&c, "-m");
    add(&c, deepspeed ? "deepspeed.launcher.launch" : "torch.distributed.run");
    if (deepspeed)
        add_deepspeed(&c, launch);
    else
        add_torchrun(&c, launch);
    if (!python)
        add(&c, deepspeed ? "--no_python" : "--no-python");
    if (python && strncmp(argv[0], "-m", 2) == 0) {
        add(&c, "--module");
        if (argv[0][2]) /* "-mpack.train" */
            add(&c, argv[0] + 2);
        argv++;
    }
    for (; *argv; argv++)
        add(&c, *argv);
    add(&c, NULL);
    *ret_argv = c.items;
    return OK;
}
