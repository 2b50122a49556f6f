/* euvyrad: the server program. Options, the set-up without a browser, signals. */
#include "base/log.h"
#include "base/mem.h"
#include "domain/identity/identity.h"
#include "domain/targets/targets.h"
#include "server/maintain.h"
#include "server/server.h"
#include "sys/file.h"
#include "sys/signals.h"

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_JOBS_MOST 10000000

struct arguments {
    struct server_options options;
    const char *log_level, *lost_after, *crashed_after, *min_run, *open_jobs_max;
    const char *admin, *key_file; /* of setup */
    const char *database, *database_file;
    char *where; /* the database, in heap memory */
};

static const char usage[] =
    "euvyrad runs the Euvyra server.\n"
    "\n"
    "  euvyrad --data DIR [--database URL] [--listen HOST:PORT] [--tls-cert FILE --tls-key FILE]\n"
    "  euvyrad setup --data DIR --admin NAME --key-file FILE\n"
    "  euvyrad backup TO --data DIR\n"
    "  euvyrad restore FROM --data DIR\n"
    "  euvyrad check --data DIR\n"
    "  euvyrad version\n"
    "\n"
    "  --data DIR           where everything is kept; made when it is missing\n"
    "  --database URL       PostgreSQL in place of an SQLite file below DIR, without a password:\n"
    "                       postgresql://euvyra@db.example.org/euvyra?sslmode=verify-full\n"
    "  --database-file FILE the same, read from FILE (mode 0600), which may hold the password\n"
    "  --blobs DIR          where files are kept; default DIR/blobs. Servers of one database\n"
    "                       share it\n"
    "  --listen HOST:PORT   default 127.0.0.1:8470; beyond loopback only with TLS\n"
    "  --tls-cert FILE      certificate with its chain, PEM\n"
    "  --tls-key FILE       its private key, PEM\n"
    "  --secret-key-file FILE  the key that seals secrets (mode 0600); default DIR/secret.key,\n"
    "                       made at the first start. Servers of one database share it\n"
    "  --currency CODE      of all prices; default EUR\n"
    "  --time-zone ZONE     whose months budgets count in; default UTC\n"
    "  --lost-after SEC     an agent silent for so long has lost its jobs; default 600\n"
    "  --crashed-after SEC  a run silent for so long has crashed; default 300\n"
    "  --min-run SEC        a job is not ended for another before it ran so long; default 1800\n"
    "  --open-jobs-max N    jobs of a project that have not ended; default 100000\n"
    "  --log-level LEVEL    debug, info, warn or error; default info\n"
    "\n"
    "setup makes the first administrator without a browser and writes a key into FILE (mode\n"
    "0600). Its password is random and kept nowhere; set one later in the console or with a\n"
    "second administrator. The server must be stopped meanwhile.\n"
    "\n"
    "backup copies everything, as of one moment, into the new folder TO; restore makes a data\n"
    "folder from it; check looks for damage, prints one line a fault and ends with 1 when there\n"
    "is any. backup and check work while a server runs.\n";

static int fail(const struct err *err)
{
    fprintf(stderr, "euvyrad: %s\n", err->text);
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
    return err_code_exit(err->code);
}

static enum err_code take_seconds(const char *option, const char *text, int64_t least,
                                  int64_t *ret_ms, struct err *err)
{
    int64_t seconds;

    if (!text)
        return OK;
    if (!str_to_i64(str_from(text), &seconds) || seconds < least || seconds > 31536000)
        return err_set(err, ERR_INVALID, "%s wants seconds from %d to 31536000, not \"%s\"", option,
                       (int)least, text);
    *ret_ms = seconds * 1000;
    return OK;
}

static enum err_code take_open_jobs(const char *text, int64_t *ret_count, struct err *err)
{
    int64_t count = *ret_count;

    if (text && (!str_to_i64(str_from(text), &count) || count < 1 || count > OPEN_JOBS_MOST))
        return err_set(err, ERR_INVALID, "--open-jobs-max wants a number from 1 to %d, not \"%s\"",
                       OPEN_JOBS_MOST, text);
    *ret_count = count;
    return OK;
}

static enum err_code take_level(const char *text, struct err *err)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};

    for (size_t i = 0; text && i < ARRAY_LEN(names); i++)
        if (str_eq_c(str_from(text), names[i])) {
            log_level_set((enum log_level)i);
            return OK;
        }
    return text ? err_set(err, ERR_INVALID, "--log-level is debug, info, warn or error, not \"%s\"",
                          text)
                : OK;
}

static bool is_loopback(const char *listen)
{
    struct str s = str_from(listen);

    return str_starts(s, STR("127.")) || str_starts(s, STR("localhost:")) ||
           str_starts(s, STR("[::1]:"));
}

static enum err_code check_options(const struct server_options *o, struct err *err)
{
    if (!o->data_dir)
        return err_set(err, ERR_INVALID, "--data DIR is missing");
    if (!o->tls_cert_file != !o->tls_key_file)
        return err_set(err, ERR_INVALID, "--tls-cert and --tls-key go together");
    if (!is_loopback(o->listen) && !o->tls_cert_file) {
        (void)err_set(err, ERR_INVALID, "--listen %s is beyond this machine, which needs TLS",
                      o->listen);
        err_hint(err, "give --tls-cert and --tls-key, or listen on 127.0.0.1");
        return ERR_INVALID;
    }
    if (strlen(o->config.currency) != 3)
        return err_set(err, ERR_INVALID, "--currency is a code of three letters, not \"%s\"",
                       o->config.currency);
    return OK;
}

#define DATABASE_BYTES_MAX 4096

/* The conninfo in a file that nobody else may read. */
static enum err_code read_database(const char *path, char **ret_where, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct stat st;

    TRY(file_read(path, DATABASE_BYTES_MAX, &text, err));
    if (stat(path, &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO))) {
        (void)err_set(err, ERR_INVALID, "--database-file %s can be read by others", path);
        err_hint(err, "chmod 600 %s", path);
        return ERR_INVALID;
    }
    return store_where_postgres(str_trim(buf_str(&text)), true, ret_where, err);
}

/* *a owns what it reads; main frees it. */
static enum err_code take_database(struct arguments *a, struct err *err)
{
    char *where = NULL;

    if (a->database && a->database_file)
        return err_set(err, ERR_INVALID, "--database and --database-file are two of the same");
    if (a->database)
        TRY(store_where_postgres(str_from(a->database), false, &where, err));
    if (a->database_file)
        TRY(read_database(a->database_file, &where, err));
    a->options.database = where;
    a->where = where;
    return OK;
}

/* Options that take a text, all of them. */
static enum err_code parse(int argc, char **argv, struct arguments *a, bool *ret_help,
                           struct err *err)
{
    struct server_options *o = &a->options;
    const struct {
        const char *name, **text;
    } texts[] = {
        {"database", &a->database},
        {"database-file", &a->database_file},
        {"blobs", &o->blobs_dir},
        {"data", &o->data_dir},
        {"listen", &o->listen},
        {"tls-cert", &o->tls_cert_file},
        {"tls-key", &o->tls_key_file},
        {"currency", &o->config.currency},
        {"time-zone", &o->config.zone},
        {"lost-after", &a->lost_after},
        {"crashed-after", &a->crashed_after},
        {"min-run", &a->min_run},
        {"open-jobs-max", &a->open_jobs_max},
        {"log-level", &a->log_level},
        {"admin", &a->admin},
        {"key-file", &a->key_file},
        {"secret-key-file", &o->secret_key_file},
    };
    struct option options[ARRAY_LEN(texts) + 2] = {{"help", no_argument, NULL, 'h'}};
    int index = 0, c;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        options[i + 1] = (struct option){texts[i].name, required_argument, NULL, 'o'};
    opterr = 0;
    while ((c = getopt_long(argc, argv, "+h", options, &index)) != -1) {
        if (c == 'h')
            *ret_help = true;
        else if (c == 'o')
            *texts[index - 1].text = optarg;
        else
            return err_set(err, ERR_INVALID, "unknown option, or one without its value: %s",
                           argv[optind - 1]);
    }
    if (optind < argc)
        return err_set(err, ERR_INVALID, "unexpected argument \"%s\"", argv[optind]);
    TRY(take_seconds("--lost-after", a->lost_after, 1, &o->config.lost_after_ms, err));
    TRY(take_seconds("--crashed-after", a->crashed_after, 1, &o->config.run_silent_ms, err));
    TRY(take_seconds("--min-run", a->min_run, 0, &o->config.min_run_ms, err));
    TRY(take_open_jobs(a->open_jobs_max, &o->config.open_jobs_max, err));
    TRY(take_level(a->log_level, err));
    if (!*ret_help)
        TRY(take_database(a, err));
    return *ret_help ? OK : check_options(o, err);
}

struct first_admin {
    const char *login, *hash;
    struct key_text key;
};

static enum err_code make_first_admin(void *ctx, struct cmd *cmd, struct err *err)
{
    struct first_admin *a = ctx;
    struct principal who = {.kind = PRINCIPAL_USER, .admin = true};
    struct key_spec spec = {
        .kind = PRINCIPAL_USER, .name = STR("made by euvyrad setup"), .expires = TIME_NONE};
    struct user user;

    cmd->operation = "setup";
    TRY(identity_setup(cmd, (struct str){0}, str_from(a->login), str_from(a->hash), &user, err));
    who.user = user.id;
    who.name = user.login;
    cmd->who = &who;
    return identity_key_create(cmd, &spec, &a->key, err);
}

static enum err_code set_up(const struct arguments *args, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct first_admin admin = {.login = args->admin};
    struct server *server = arena_alloc(&arena, sizeof *server);
    char password[44], hash[PASSWORD_HASH_BYTES];
    uint8_t unused[SHA256_BYTES];
    enum err_code code;

    if (!args->admin || !args->key_file)
        return err_set(err, ERR_INVALID, "setup wants --admin NAME and --key-file FILE");
    if (!http_login_is_valid(str_from(args->admin)))
        return err_set(err, ERR_INVALID,
                       "--admin is 1 to 63 of a-z, 0-9, '-', '.', '_', not \"%s\"", args->admin);
    token_make(password, unused);
    TRY(password_hash(str_from(password), hash, err));
    admin.hash = hash;
    code = server_open(server, &args->options, err);
    if (code == OK)
        code = server_run_alone(server, make_first_admin, &admin, err);
    server_stop(server);
    TRY(code);
    TRY(file_write_atomic(args->key_file, str_from(arena_printf(&arena, "%s\n", admin.key.text)),
                          0600, err));
    printf("administrator %s is there, its key is in %s\n", args->admin, args->key_file);
    return OK;
}

/* Until a signal ends it, or the store cannot go on. */
static int wait_for_end(int signal_fd, int fatal_fd)
{
    struct pollfd fds[] = {{signal_fd, POLLIN, 0}, {fatal_fd, POLLIN, 0}};

    while (poll(fds, ARRAY_LEN(fds), -1) < 0)
        continue; /* interrupted */
    if (fds[1].revents)
        return err_code_exit(ERR_IO);
    (void)signals_wait(signal_fd, 0);
    return 0;
}

static int serve(const struct server_options *options, int signal_fd)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct server *server = arena_alloc(&arena, sizeof *server);
    char link[SETUP_LINK_BYTES];
    struct err err = {0};
    int code;

    if (server_open(server, options, &err) != OK || server_start(server, link, &err) != OK) {
        code = fail(&err);
    } else {
        printf("euvyrad %s listens on %s\n", EUVYRA_VERSION, server_url(server));
        if (link[0])
            printf("open %s to make the first administrator (valid for one hour)\n", link);
        fflush(stdout);
        code = wait_for_end(signal_fd, server->fatal_fd);
    }
    server_stop(server);
    return code;
}

/* The verbs of the program; what has an argument takes it right behind the verb. */
static const struct {
    const char *name;
    bool has_argument;
} verbs[] = {{"setup", false}, {"backup", true}, {"restore", true}, {"check", false}};
enum { VERB_SETUP, VERB_BACKUP, VERB_RESTORE, VERB_CHECK, VERB_NONE };

static int verb_of(int argc, char **argv)
{
    for (int i = 0; argc > 1 && i < VERB_NONE; i++)
        if (str_eq_c(str_from(argv[1]), verbs[i].name))
            return i;
    return VERB_NONE;
}

static int check_data(const struct server_options *options, struct err *err)
{
    int64_t faults = 0;

    if (maintain_check(options, &faults, err) != OK)
        return fail(err);
    return faults ? 1 : 0;
}

static int run_verb(int verb, const char *argument, const struct arguments *args, struct err *err)
{
    enum err_code code = OK;

    switch (verb) {
    case VERB_SETUP: code = set_up(args, err); break;
    case VERB_BACKUP: code = maintain_backup(&args->options, argument, err); break;
    case VERB_RESTORE: code = maintain_restore(&args->options, argument, err); break;
    case VERB_CHECK: return check_data(&args->options, err);
    default: break;
    }
    return code == OK ? 0 : fail(err);
}

int main(int argc, char **argv)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, 0};
    struct arguments args = {
        .options = {.listen = "127.0.0.1:8470",
                    .config = {.currency = "EUR",
                               .zone = "UTC",
                               .heartbeat_ms = 10000,
                               .agent_silent_ms = 60000,
                               .lost_after_ms = 600000,
                               .min_run_ms = 1800000,
                               .final_within_ms = 300000,
                               .run_silent_ms = 300000,
                               .offer_ms = 60000,
                               .open_jobs_max = 100000}},
    };
    int verb = verb_of(argc, argv), words = verb == VERB_NONE ? 0 : 1, signal_fd, code;
    const char *argument = NULL;
    bool help = false;
    struct err err = {0};

    json_setup();
    if (argc > 1 &&
        (str_eq_c(str_from(argv[1]), "version") || str_eq_c(str_from(argv[1]), "--version"))) {
        printf("euvyrad %s\n", EUVYRA_VERSION);
        return 0;
    }
    if (words && verbs[verb].has_argument && argc > 2 && argv[2][0] != '-') {
        argument = argv[2];
        words = 2;
    }
    if (parse(argc - words, argv + words, &args, &help, &err) != OK)
        return fail(&err);
    if (help) {
        fputs(usage, stdout);
        return 0;
    }
    if (words && verbs[verb].has_argument && !argument) {
        (void)err_set(&err, ERR_INVALID, "%s wants a folder: euvyrad %s FOLDER --data DIR",
                      verbs[verb].name, verbs[verb].name);
        code = fail(&err);
    } else if (words) {
        code = run_verb(verb, argument, &args, &err);
    } else if (signals_open(ends, &signal_fd, &err) != OK) {
        code = fail(&err);
    } else {
        code = serve(&args.options, signal_fd);
    }
    mem_free(args.where);
    return code;
}
