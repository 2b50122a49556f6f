/* euvyra-agent: options, and the verbs it runs itself with: attempt (a supervisor), unpack, upload;
 * fetch and follow inside a pod.
 */
#include "agent/agent.h"
#include "agent/gpu_claims.h"
#include "agent/pod_tools.h"
#include "base/log.h"
#include "crypto/secret.h"
#include "drivers/executor/process/attempt_supervisor.h"
#include "sync/folders.h"
#include "sys/file.h"
#include "sys/pack.h"
#include "sys/signals.h"
#include "wire/agent_messages.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PRODUCT          "euvyra-agent/" EUVYRA_VERSION
#define KEY_FILE_BYTES   4096
#define SLOTS_MAX        10000
#define VOLUMES_MAX      64
#define PULL_MINUTES     5
#define PULL_MINUTES_MAX 1440
#define READINGS_S       10
#define READINGS_S_MAX   60
#define CONSOLE_MB       1024
#define CONSOLE_MB_MAX   (1024 * 1024)

extern char **environ;

struct arguments {
    const char *server, *key_file, *name, *target, *dir, *slots, *job_user, *log_level, *console_mb;
    const char *docker_socket, *pull_minutes, *nodes_network;
    const char *server_for_jobs, *executor, *image, *nvml, *readings, *gpu_claims, *address;
    const char *volumes[VOLUMES_MAX + 1];
    size_t volume_count;
    struct cluster_arguments cluster;
    bool allow_root, allow_old_runc, help, version;
};

static const char usage[] =
    "euvyra-agent offers this machine to a Euvyra server and runs its jobs.\n"
    "\n"
    "  euvyra-agent --server URL --key-file FILE --dir DIR [options]\n"
    "\n"
    "  --server URL      the server; also EUVYRA_SERVER\n"
    "  --key-file FILE   the agent's key, from `euvyra agents add`; also EUVYRA_API_KEY_FILE\n"
    "  --dir DIR         where the agent keeps its work; made when it is missing\n"
    "  --name NAME       refuse to start when the key is another agent's\n"
    "  --target TARGET   refuse to start when the agent is at another target\n"
    "  --executor NAME   what jobs run in: docker, kubernetes or process; default process\n"
    "  --image NAME      the image of jobs that name none; not with process\n"
    "  --volumes DIR     jobs may be given volumes that lie below this folder; can be repeated\n"
    "  --server-for-jobs URL\n"
    "                    the server as jobs reach it, where that is not --server\n"
    "  --nvml FILE       NVIDIA's management library, where the system does not find\n"
    "                    libnvidia-ml.so.1; also EUVYRA_NVML\n"
    "  --readings SEC    read machine and GPUs every SEC seconds (1 to 60); default 10\n"
    "  --address HOST    this machine as others reach it, for jobs on several; default the\n"
    "                    address from which the server is called\n"
    "  --gpu-claims DIR  says which job has which GPU, for all agents of this machine;\n"
    "                    default " GPU_CLAIMS_DIR "\n"
    "  --docker-socket PATH\n"
    "                    of the Docker engine; default /var/run/docker.sock\n"
    "  --nodes-network NAME\n"
    "                    with docker, for jobs on several machines: host, or a network of the\n"
    "                    engine that reaches all of them\n"
    "  --pull-minutes N  how long a registry that is away is waited for; default 5\n"
    "  --allow-old-runc  use a Docker engine whose runc is old; read docs/docker.md "
    "first\n" CLUSTER_USAGE "  --slots N         jobs at once; default one for each CPU\n"
    "  --console-mb N    keep N MiB of an attempt's console text, leave out what follows;\n"
    "                    default 1024\n"
    "  --job-user USER   run jobs as this user (needs root)\n"
    "  --allow-root      run jobs as root\n"
    "  --log-level LEVEL debug, info, warn or error; default info\n"
    "  --version, --help\n"
    "\n"
    "EUVYRA_CA names the certificates to trust. SIGTERM ends the agent and leaves its jobs\n"
    "running; an agent started again in the same folder takes them up.\n";

static int fail(const struct err *err)
{
    (void)fprintf(stderr, "euvyra-agent: %s\n", err->text);
    if (err->hint[0])
        (void)fprintf(stderr, "hint: %s\n", err->hint);
    return err_code_exit(err->code);
}

/* Real paths: a volume is compared by where it really lies. */
static enum err_code add_volume(struct arguments *a, const char *dir, struct err *err)
{
    if (a->volume_count == VOLUMES_MAX)
        return err_set(err, ERR_INVALID, "--volumes is given more than %d times", VOLUMES_MAX);
    a->volumes[a->volume_count] = realpath(dir, NULL); /* kept as long as the agent runs */
    if (!a->volumes[a->volume_count])
        return err_set_errno(err, ERR_INVALID, errno, "--volumes %.200s", dir);
    a->volume_count++;
    return OK;
}

static const struct option known_options[] = {
    {"server", required_argument, NULL, 's'},
    {"key-file", required_argument, NULL, 'k'},
    {"dir", required_argument, NULL, 'd'},
    {"name", required_argument, NULL, 'n'},
    {"target", required_argument, NULL, 't'},
    {"slots", required_argument, NULL, 'S'},
    {"job-user", required_argument, NULL, 'u'},
    {"executor", required_argument, NULL, 'e'},
    {"image", required_argument, NULL, 'i'},
    {"volumes", required_argument, NULL, 'V'},
    {"server-for-jobs", required_argument, NULL, 'j'},
    {"nvml", required_argument, NULL, 'N'},
    {"readings", required_argument, NULL, 'R'},
    {"address", required_argument, NULL, 'a'},
    {"gpu-claims", required_argument, NULL, 'g'},
    {"docker-socket", required_argument, NULL, 'D'},
    {"nodes-network", required_argument, NULL, 'w'},
    {"pull-minutes", required_argument, NULL, 'p'},
    {"allow-old-runc", no_argument, NULL, 'o'},
    {"log-level", required_argument, NULL, 'l'},
    {"allow-root", no_argument, NULL, 'r'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {"console-mb", required_argument, NULL, 'c'},
    CLUSTER_OPTIONS,
    {0},
};

static enum err_code parse(int argc, char **argv, struct arguments *a, struct err *err)
{
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, "", known_options, NULL)) != -1) {
        switch (c) {
        case 's': a->server = optarg; break;
        case 'k': a->key_file = optarg; break;
        case 'd': a->dir = optarg; break;
        case 'n': a->name = optarg; break;
        case 't': a->target = optarg; break;
        case 'S': a->slots = optarg; break;
        case 'u': a->job_user = optarg; break;
        case 'w': a->nodes_network = optarg; break;
        case 'a': a->address = optarg; break;
        case 'g': a->gpu_claims = optarg; break;
        case 'N': a->nvml = optarg; break;
        case 'R': a->readings = optarg; break;
        case 'l': a->log_level = optarg; break;
        case 'e': a->executor = optarg; break;
        case 'i': a->image = optarg; break;
        case 'j': a->server_for_jobs = optarg; break;
        case 'V': TRY(add_volume(a, optarg, err)); break;
        case 'c': a->console_mb = optarg; break;
        case 'D': a->docker_socket = optarg; break;
        case 'p': a->pull_minutes = optarg; break;
        case 'o': a->allow_old_runc = true; break;
        case 'r': a->allow_root = true; break;
        case 'h': a->help = true; break;
        case 'v': a->version = true; break;
        default:
            if (cluster_option_take(&a->cluster, c, optarg))
                break;
            return err_set(err, ERR_INVALID, "option \"%.60s\" is unknown or lacks its value",
                           argv[optind - 1]);
        }
    }
    if (optind < argc)
        return err_set(err, ERR_INVALID, "argument \"%.60s\" is not expected", argv[optind]);
    a->server = a->server ? a->server : getenv("EUVYRA_SERVER");
    a->key_file = a->key_file ? a->key_file : getenv("EUVYRA_API_KEY_FILE");
    return OK;
}

static enum err_code take_level(const char *text, struct err *err)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            log_level_set((enum log_level)i);
            return OK;
        }
    }
    return err_set(err, ERR_INVALID, "--log-level is debug, info, warn or error, not \"%.20s\"",
                   text);
}

/* Whose jobs these are. As root nobody's by accident. */
static enum err_code take_user(const struct arguments *a, struct agent_options *o, struct err *err)
{
    const struct passwd *user;

    if (!a->job_user && geteuid() == 0 && !a->allow_root) {
        (void)err_set(err, ERR_FORBIDDEN, "jobs would run as root");
        err_hint(err, "give --job-user USER, or --allow-root if that is wanted");
        return ERR_FORBIDDEN;
    }
    if (!a->job_user)
        return OK;
    user = getpwnam(a->job_user);
    if (!user)
        return err_set(err, ERR_NOT_FOUND, "user \"%.60s\" is not known here", a->job_user);
    if (user->pw_uid == 0 && !a->allow_root)
        return err_set(err, ERR_FORBIDDEN, "--job-user root needs --allow-root");
    if (user->pw_uid == geteuid())
        return OK;
    if (geteuid() != 0)
        return err_set(err, ERR_FORBIDDEN, "--job-user %.60s needs root", a->job_user);
    o->set_user = true;
    o->uid = user->pw_uid;
    o->gid = user->pw_gid;
    o->user_name = user->pw_name; /* static storage of the C library: asked once */
    o->user_home = user->pw_dir;
    return OK;
}

static enum err_code take_key(const char *path, char ret_key[KEY_TEXT_BYTES], struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct key_text key;

    TRY(file_read(path, KEY_FILE_BYTES, &text, err));
    if (!key_parse(str_trim(buf_str(&text)), &key))
        return err_set(err, ERR_UNAUTHENTICATED, "%s does not hold a key", path);
    memcpy(ret_key, key.text, KEY_TEXT_BYTES);
    return OK;
}

static enum err_code take_docker(const struct arguments *a, struct agent_options *o,
                                 struct err *err)
{
    int64_t minutes = PULL_MINUTES;

    o->docker_socket = a->docker_socket;
    o->nodes_network = a->nodes_network;
    o->allow_old_runc = a->allow_old_runc;
    if (a->pull_minutes && (!str_to_i64(str_from(a->pull_minutes), &minutes) || minutes < 0 ||
                            minutes > PULL_MINUTES_MAX))
        return err_set(err, ERR_INVALID, "--pull-minutes is a number from 0 to %d, not \"%.20s\"",
                       PULL_MINUTES_MAX, a->pull_minutes);
    o->pull_patience_ms = minutes * 60000;
    return OK;
}

static enum err_code take_executor(const struct arguments *a, struct agent_options *o,
                                   struct err *err)
{
    bool process = !a->executor || strcmp(a->executor, "process") == 0;

    o->executor = a->executor ? a->executor : "process";
    o->image = a->image;
    o->volumes = a->volumes;
    o->server_for_jobs = a->server_for_jobs;
    TRY(cluster_options_check(&a->cluster, strcmp(o->executor, "kubernetes") == 0, &o->cluster,
                              err));
    if (process && a->image)
        return err_set(err, ERR_INVALID, "--image is not for --executor process");
    if (a->nodes_network && strcmp(o->executor, "docker") != 0)
        return err_set(err, ERR_INVALID, "--nodes-network is for --executor docker alone");
    if (process && a->volume_count)
        return err_set(err, ERR_INVALID, "--volumes is not for --executor process");
    if (process || a->image)
        return OK;
    (void)err_set(err, ERR_INVALID, "--image is missing");
    err_hint(err, "it names the image of jobs that name none, such as python:3.13");
    return ERR_INVALID;
}

static enum err_code take_readings(const struct arguments *a, struct agent_options *o,
                                   struct err *err)
{
    int64_t seconds = READINGS_S;

    if (a->readings &&
        (!str_to_i64(str_from(a->readings), &seconds) || seconds < 1 || seconds > READINGS_S_MAX))
        return err_set(err, ERR_INVALID, "--readings is a number from 1 to %d, not \"%.20s\"",
                       READINGS_S_MAX, a->readings);
    o->readings_ms = seconds * 1000;
    return OK;
}

static enum err_code take_address(const char *address, struct agent_options *o, struct err *err)
{
    char text[WIRE_RENDEZVOUS_MAX + 8];
    int64_t port;
    struct str host;

    o->address = address;
    if (!address)
        return OK;
    (void)snprintf(text, sizeof(text), strchr(address, ':') ? "[%s]:1" : "%s:1", address);
    if (!wire_rendezvous_parse(str_from(text), &host, &port))
        return err_set(err, ERR_INVALID, "--address is a host name or an address, not \"%.60s\"",
                       address);
    return OK;
}

static enum err_code take_options(const struct arguments *a, struct agent_options *o,
                                  struct err *err)
{
    int64_t slots = 0, console_mb = CONSOLE_MB;

    if (!a->server || !a->key_file || !a->dir) {
        (void)err_set(err, ERR_INVALID, "%s is missing",
                      !a->server     ? "--server URL"
                      : !a->key_file ? "--key-file FILE"
                                     : "--dir DIR");
        err_hint(err, "euvyra-agent --help");
        return ERR_INVALID;
    }
    if (a->slots && (!str_to_i64(str_from(a->slots), &slots) || slots < 1 || slots > SLOTS_MAX))
        return err_set(err, ERR_INVALID, "--slots is a number from 1 to %d, not \"%.20s\"",
                       SLOTS_MAX, a->slots);
    if (a->console_mb && (!str_to_i64(str_from(a->console_mb), &console_mb) || console_mb < 1 ||
                          console_mb > CONSOLE_MB_MAX))
        return err_set(err, ERR_INVALID, "--console-mb is a number from 1 to %d, not \"%.20s\"",
                       CONSOLE_MB_MAX, a->console_mb);
    if (a->log_level)
        TRY(take_level(a->log_level, err));
    TRY(take_executor(a, o, err));
    TRY(take_docker(a, o, err));
    o->server = a->server;
    o->name = a->name;
    o->target = a->target;
    o->nvml = a->nvml;
    TRY(take_readings(a, o, err));
    TRY(take_address(a->address, o, err));
    o->gpu_claims = a->gpu_claims ? a->gpu_claims : GPU_CLAIMS_DIR;
    o->dir = a->dir;
    o->slots = slots;
    o->console_bytes_max = console_mb * 1024 * 1024;
    return take_user(a, o, err);
}

/* Absolute, because supervisors start in "/". */
static enum err_code make_absolute(const char *dir, char ret_path[PATH_MAX], struct err *err)
{
    TRY(file_make_dirs(dir, 0711, err));
    if (!realpath(dir, ret_path))
        return err_set_errno(err, ERR_IO, errno, "%s", dir);
    return OK;
}

static enum err_code find_programs(char ret_self[PATH_MAX], char ret_euvyra[PATH_MAX],
                                   struct err *err)
{
    ssize_t len = readlink("/proc/self/exe", ret_self, PATH_MAX - 1);
    char *slash;

    if (len <= 0)
        return err_set_errno(err, ERR_IO, errno, "cannot find this program");
    ret_self[len] = '\0';
    slash = strrchr(ret_self, '/');
    if ((size_t)snprintf(ret_euvyra, PATH_MAX, "%.*s/euvyra", (int)(slash - ret_self), ret_self) >=
            PATH_MAX ||
        access(ret_euvyra, X_OK) != 0)
        ret_euvyra[0] = '\0';
    return OK;
}

static int run_agent(int argc, char **argv)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, 0};
    char key[KEY_TEXT_BYTES], self[PATH_MAX], euvyra[PATH_MAX], dir[PATH_MAX];
    struct agent_options options = {.version = PRODUCT,
                                    .ca_file = getenv("EUVYRA_CA"),
                                    .environ = (const char *const *)environ,
                                    .signal_fd = -1};
    struct arguments a = {0};
    struct err err = {0};

    if (parse(argc, argv, &a, &err) != OK)
        return fail(&err);
    if (a.help || a.version) {
        (void)fputs(a.help ? usage : PRODUCT "\n", stdout);
        return 0;
    }
    if (take_options(&a, &options, &err) != OK || take_key(a.key_file, key, &err) != OK ||
        find_programs(self, euvyra, &err) != OK || make_absolute(a.dir, dir, &err) != OK ||
        signals_open(signals, &options.signal_fd, &err) != OK)
        return fail(&err);
    options.key_text = key;
    options.dir = dir;
    options.program = self;
    options.euvyra = euvyra[0] ? euvyra : NULL;
    if (agent_run(&options, &err) != OK)
        return fail(&err);
    return 0;
}

static int run_unpack(const char *dir)
{
    struct err err = {0};

    if (pack_unpack(STDIN_FILENO, dir, &err) != OK)
        return fail(&err);
    return 0;
}

static int run_upload(const char *dir)
{
    const char *const dirs[] = {dir};
    struct sync_folders_options options = {.server = {.product = PRODUCT}};
    struct sync_folders_report report = {0};
    struct err err = {0};

    if (sync_folders(dirs, 1, &options, &report, &err) != OK)
        return fail(&err);
    return 0;
}

static int run_fetch(const char *digest, const char *dir)
{
    struct err err = {0};

    return pod_fetch(digest, dir, PRODUCT, &err) == OK ? 0 : fail(&err);
}

static int run_follow(const char *dir)
{
    struct err err = {0};

    return pod_follow(dir, PRODUCT, &err) == OK ? 0 : fail(&err);
}

int main(int argc, char **argv)
{
    int64_t lock_fd = -1;

    (void)signal(SIGPIPE, SIG_IGN);
    json_setup();
    if (argc == 4 && strcmp(argv[1], "attempt") == 0 && str_to_i64(str_from(argv[3]), &lock_fd) &&
        lock_fd > 2 && lock_fd < INT_MAX)
        return attempt_supervise(argv[2], (int)lock_fd);
    if (argc == 3 && strcmp(argv[1], "unpack") == 0)
        return run_unpack(argv[2]);
    if (argc == 4 && strcmp(argv[1], "fetch") == 0)
        return run_fetch(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "follow") == 0)
        return run_follow(argv[2]);
    if (argc == 3 && strcmp(argv[1], "upload") == 0)
        return run_upload(argv[2]);
    return run_agent(argc, argv);
}
