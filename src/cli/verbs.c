/* The table of verbs and options. Everything the command line can do is listed here. */
#include "cli/cli.h"

#define FLAG(n, h)                                                                                 \
    {                                                                                              \
        n, OPTION_FLAG, false, NULL, h, 0, 0                                                       \
    }
#define TEXT(n, v, h)                                                                              \
    {                                                                                              \
        n, OPTION_TEXT, false, v, h, 0, 0                                                          \
    }
#define TEXTS(n, v, h)                                                                             \
    {                                                                                              \
        n, OPTION_TEXT, true, v, h, 0, 0                                                           \
    }
#define NUMBER(n, v, lo, hi, h)                                                                    \
    {                                                                                              \
        n, OPTION_NUMBER, false, v, h, lo, hi                                                      \
    }

#define SERVER_OPTIONS                                                                             \
    TEXT("server", "URL", "the server; else EUVYRA_SERVER, else the one of euvyra login"),         \
        FLAG("json", "print JSON, as the API gives it")
#define PROJECT_OPTION TEXT("project", "NAME", "the project; else EUVYRA_PROJECT")

static const struct option_spec plain_options[] = {SERVER_OPTIONS};
static const struct option_spec none_options[] = {FLAG("json", "print JSON")};

static const struct option_spec login_options[] = {
    TEXT("server", "URL", "the server, such as https://euvyra.example.org"),
    TEXT("key-file", "FILE", "read the key from FILE; '-': standard input; else it is asked for"),
};
static const struct option_spec project_create_options[] = {
    SERVER_OPTIONS,
    TEXT("title", "TEXT", "a title for people"),
    TEXT("description", "TEXT", "what it is about"),
};
static const struct option_spec project_set_options[] = {
    SERVER_OPTIONS,
    TEXT("title", "TEXT", "a title for people"),
    TEXT("description", "TEXT", "what it is about"),
    NUMBER("silent", "SEC", 0, 2592000,
           "a run is crashed after SEC seconds without a sign of life; 0: as the server has it"),
    NUMBER("retain-days", "N", 0, 36500,
           "delete runs that ended N days ago and are not tagged keep; 0: keep all"),
    TEXT("idle-gpus", "WHAT", "warn of jobs that leave their GPUs idle, or also stop them"),
    NUMBER("idle-minutes", "N", 5, 10080, "after N minutes below 5 %"),
};
static const struct option_spec alerts_options[] = {
    SERVER_OPTIONS,
    PROJECT_OPTION,
    TEXT("run", "RUN", "only those of this run"),
    NUMBER("limit", "N", 1, 10000, "at most so many; default 50"),
};
static const struct option_spec agents_add_options[] = {
    SERVER_OPTIONS,
    TEXT("target", "NAME", "the target it belongs to; default local"),
    TEXT("key-file", "FILE", "where its key goes (mode 0600); default NAME.key"),
};
static const struct option_spec targets_set_options[] = {
    SERVER_OPTIONS,
    TEXT("hour", "PRICE", "price of an hour, such as 0.45"),
    TEXT("gpu-hour", "PRICE", "price of a GPU for an hour"),
};
static const struct option_spec launch_options[] = {
    SERVER_OPTIONS,
    PROJECT_OPTION,
    TEXT("file", "FILE", "a job as YAML (also -f); options and command go over it"),
    TEXT("from", "RUN", "launch again what this run's job was; options and command go over it"),
    FLAG("dry-run", "print what would be submitted as YAML, and submit nothing"),
    TEXT("name", "TEXT", "name of job and run"),
    TEXT("queue", "NAME", "the queue; default: default"),
    TEXTS("target", "NAME[:TIME]",
          "where it may run, in order of preference; with TIME the next is used too after it"),
    TEXTS("exclude", "AGENT", "an agent on which it does not run"),
    NUMBER("gpus", "N", 0, 1024, "GPUs on each machine"),
    TEXTS("gpu-type", "TYPE", "a GPU type that will do"),
    TEXT("gpu-memory", "SIZE", "memory of each GPU at least"),
    NUMBER("cpus", "N", 0, 4096, "cores; default 1"),
    TEXT("memory", "SIZE", "memory, such as 8G"),
    NUMBER("nodes", "N", 1, 1024, "machines, all at once"),
    TEXT("launcher", "NAME", "exec, torchrun or deepspeed"),
    TEXT("image", "IMAGE", "container image"),
    TEXT("registry", "SECRET", "secret with the credential of its registry"),
    TEXT("shm", "SIZE", "size of /dev/shm"),
    TEXT("disk", "SIZE", "what it may write"),
    NUMBER("pids", "N", 1, 4194304, "processes at once"),
    FLAG("read-only-root", "the image cannot be written to"),
    TEXTS("volume", "NAME:PATH[:ro]", "a volume of its targets"),
    TEXTS("bucket", "NAME", "a bucket of its targets"),
    TEXTS("config", "KEY=VALUE", "an entry of the configuration that init() merges; JSON or text"),
    TEXTS("env", "NAME=VALUE", "an environment variable"),
    TEXTS("secret", "NAME=SECRET", "an environment variable from a secret of the project"),
    TEXTS("tag", "TEXT", "a tag of the run"),
    TEXT("notes", "TEXT", "notes of the run"),
    NUMBER("priority", "N", -1000, 1000, "higher starts first; default 0"),
    TEXT("timeout", "TIME", "ends an attempt, such as 90m or 2d; default 7d, of a service none"),
    TEXT("grace", "TIME", "between SIGTERM and SIGKILL; default 30s"),
    NUMBER("retries", "N", 0, 100, "new attempts after a lost one; default 3"),
    FLAG("retry-failed", "new attempts after a failed one too"),
    TEXT("array", "FROM-TO[:STEP][%LIMIT]", "a job for each index; LIMIT at once"),
    TEXTS("after", "JOB[:any]", "start after this job or array has ended well; any: in any way"),
    FLAG("service", "an endpoint: it has no end of its own"),
    NUMBER("replicas", "N", 1, 1000, "of a service: so many jobs, as of an array"),
    TEXT("health", "PORT[/PATH]", "of a service: what answers while it is well"),
    TEXT("health-every", "TIME", "from one question to the next; default 10s"),
    TEXT("health-timeout", "TIME", "for an answer; default 5s"),
    NUMBER("health-failures", "N", 1, 100, "in a row, then it starts again; default 3"),
    TEXT("health-start", "TIME", "until the first good answer, else it starts again; default 10m"),
    FLAG("held", "keep it out of the queue until euvyra release"),
    FLAG("no-code", "do not pack the folder"),
    FLAG("wait", "follow it to its end; its exit code becomes ours"),
    FLAG("estimate", "say when it might start; submit nothing"),
};
static const struct option_spec jobs_options[] = {
    SERVER_OPTIONS,
    TEXT("project", "NAME", "only of this project"),
    TEXT("array", "ARRAY", "only the jobs of this array"),
    FLAG("all", "also those that have ended, and each job of an array"),
    NUMBER("limit", "N", 1, 10000, "at most so many; default 50"),
};
static const struct option_spec job_why_options[] = {
    SERVER_OPTIONS,
    NUMBER("priority", "N", -1000, 1000, "what if it had this priority; changes nothing"),
};
static const struct option_spec job_set_options[] = {
    SERVER_OPTIONS,
    NUMBER("priority", "N", -1000, 1000, "higher starts first"),
    TEXT("queue", "NAME", "move it to this queue"),
    TEXTS("target", "NAME[:TIME]", "move it to this target, or list of targets"),
};
static const struct option_spec of_project_options[] = {SERVER_OPTIONS, PROJECT_OPTION};
static const struct option_spec secrets_set_options[] = {
    SERVER_OPTIONS,
    PROJECT_OPTION,
    TEXT("file", "FILE", "read the value from FILE; else from standard input"),
};
static const struct option_spec maintenance_options[] = {
    SERVER_OPTIONS,
    TEXT("reason", "TEXT", "what people are told who wait"),
    TEXT("until", "TIME", "when it ends, such as 2027-01-31T08:00:00Z; else open"),
};
static const struct option_spec logs_options[] = {
    TEXT("server", "URL", "the server"),
    FLAG("follow", "go on until it ends (also -f)"),
};
static const struct option_spec runs_options[] = {
    SERVER_OPTIONS,
    PROJECT_OPTION,
    TEXT("state", "STATE", "only those in this state"),
    TEXT("tag", "TEXT", "only those with this tag"),
    TEXT("search", "TEXT", "only those whose name or id has this part"),
    TEXT("filter", "FILTER", "only those it finds, such as 'config.lr < 0.01 and tags = keep'"),
    TEXT("sort", "KEY", "in the order of a key; '-' before it: descending"),
    TEXT("columns", "KEYS", "also show these keys, with commas between"),
    NUMBER("limit", "N", 1, 10000, "at most so many; default 50"),
};
static const struct option_spec export_options[] = {
    TEXT("server", "URL", "the server; else EUVYRA_SERVER, else the one of euvyra login"),
    PROJECT_OPTION,
    TEXT("filter", "FILTER", "of the project only the runs that it finds"),
};
static const struct option_spec import_options[] = {
    TEXT("server", "URL", "the server; else EUVYRA_SERVER, else the one of euvyra login"),
    PROJECT_OPTION,
    FLAG("new-ids", "give the runs ids of their own, as copies"),
};
static const struct option_spec exec_options[] = {
    TEXT("server", "URL", "the server"),
    PROJECT_OPTION,
    TEXT("file", "FILE",
         "a job as YAML (also -f): its command, env and config; command goes over it"),
    TEXT("name", "TEXT", "name of the run"),
    TEXT("dir", "DIR", "where the record lies; default euvyra-runs"),
    FLAG("offline", "only record; euvyra sync brings it in later"),
};
static const struct option_spec sync_options[] = {
    TEXT("server", "URL", "the server"),
    FLAG("follow", "upload one run folder while it is being written"),
    FLAG("detach", "with --follow: go on in the background"),
    FLAG("tee", "pass on and record the text from descriptors 3 and 4 (the SDK starts this)"),
};

#define VERB(n, a, s, d, o, lo, hi, server, own, f)                                                \
    {                                                                                              \
        n, a, s, d, o, ARRAY_LEN(o), lo, hi, server, own, f                                        \
    }

const struct verb cli_verbs[] = {
    VERB("login", "", "keep server and key for later commands",
         "The key is kept in $XDG_CONFIG_HOME/euvyra/config.json (mode 0600).", login_options, 0, 0,
         false, false, cmd_login),
    VERB("launch", "[-f FILE] -- COMMAND...", "run a command as a job",
         "Packs the current folder (in a git work tree its files and changes, else everything; at "
         "most 100 MB), submits the job and prints its id. With --wait it shows state and log and "
         "ends with the exit code of the job, or 125 when euvyra itself failed. docs/jobs.md "
         "describes files, arrays and dependencies.",
         launch_options, 0, -1, true, true, cmd_launch),
    VERB("jobs", "", "list jobs, an array in one line", NULL, jobs_options, 0, 0, true, false,
         cmd_jobs),
    VERB("jobs list", "", "list jobs, an array in one line", NULL, jobs_options, 0, 0, true, false,
         cmd_jobs),
    VERB("jobs show", "JOB", "show a job", NULL, plain_options, 1, 1, true, false, cmd_job),
    VERB("jobs hold", "JOB", "keep a waiting job out of the queue", NULL, plain_options, 1, 1, true,
         false, cmd_hold),
    VERB("jobs release", "JOB", "let a held job go into the queue", NULL, plain_options, 1, 1, true,
         false, cmd_release),
    VERB("jobs cancel", "JOB", "cancel a job", NULL, plain_options, 1, 1, true, false, cmd_cancel),
    VERB("jobs priority", "JOB N", "change the priority of a job", NULL, plain_options, 2, 2, true,
         false, cmd_priority),
    VERB("job", "JOB", "show a job", NULL, plain_options, 1, 1, true, false, cmd_job),
    VERB("job why", "JOB", "why a job waits, what would change it, where it was tried", NULL,
         job_why_options, 1, 1, true, false, cmd_job_why),
    VERB("job hold", "JOB", "keep a waiting job out of the queue", NULL, plain_options, 1, 1, true,
         false, cmd_hold),
    VERB("job set", "JOB", "change priority, queue or targets of a waiting job", NULL,
         job_set_options, 1, 1, true, false, cmd_job_set),
    VERB("cancel", "JOB", "cancel a job", NULL, plain_options, 1, 1, true, false, cmd_cancel),
    VERB("release", "JOB", "let a held job go into the queue", NULL, plain_options, 1, 1, true,
         false, cmd_release),
    VERB("logs", "JOB|RUN", "print the console text of a job or run", NULL, logs_options, 1, 1,
         true, false, cmd_logs),
    VERB("runs", "", "list runs",
         "Keys are fields (state, created, cost, ...), config.KEY, summary.KEY and "
         "metric.NAME.min; docs/filtering.md has the language.",
         runs_options, 0, 0, true, false, cmd_runs),
    VERB("run", "RUN", "show a run", NULL, plain_options, 1, 1, true, false, cmd_run),
    VERB("stop", "RUN", "ask a run to stop",
         "Its script sees run.stopping become true and decides when; a job is ended by "
         "euvyra cancel.",
         plain_options, 1, 1, true, false, cmd_stop),
    VERB("alerts", "", "list what runs told people, newest first", NULL, alerts_options, 0, 0, true,
         false, cmd_alerts),
    VERB("export", "[RUN] DIR", "save a run, or all runs of a project, with all they recorded",
         "Without RUN the whole project. Files that are there are left alone, so an export that "
         "broke off goes on. docs/export.md describes the files.",
         export_options, 1, 2, true, false, cmd_export),
    VERB("import", "DIR", "restore exported runs into a project",
         "The runs are as they were, under the same ids. An import that broke off goes on.",
         import_options, 1, 1, true, false, cmd_import),
    VERB("exec", "[-- COMMAND...]", "run a command here and record it as a run",
         "Console text, exit code, signal and system load are recorded, with or without the SDK "
         "inside. The exit code of the command becomes ours, or 125 when euvyra itself failed. "
         "With -f it is the command of a job's file, which asks nothing of a machine here.",
         exec_options, 0, -1, false, true, cmd_exec),
    VERB("sync", "DIR...", "bring recorded runs to the server",
         "Any number of times, from several places at once: the result is the same run.",
         sync_options, 1, -1, false, false, cmd_sync),
    VERB("projects", "", "list projects", NULL, plain_options, 0, 0, true, false, cmd_projects),
    VERB("projects create", "NAME", "create a project", NULL, project_create_options, 1, 1, true,
         false, cmd_projects_create),
    VERB("projects set", "NAME", "change the settings of a project", NULL, project_set_options, 1,
         1, true, false, cmd_projects_set),
    VERB("agents", "", "list agents", NULL, plain_options, 0, 0, true, false, cmd_agents),
    VERB("agents add", "NAME", "register an agent and write its key",
         "The target is created when it is missing.", agents_add_options, 1, 1, true, false,
         cmd_agents_add),
    VERB("agents clear", "NAME", "only one machine has its key now: jobs start there again", NULL,
         plain_options, 1, 1, true, false, cmd_agents_clear),
    VERB("agents show", "NAME", "an agent's machine, its GPUs and what runs there", NULL,
         plain_options, 1, 1, true, false, cmd_agents_show),
    VERB("agents maintenance", "NAME", "start nothing on a machine; what runs there goes on", NULL,
         maintenance_options, 1, 1, true, false, cmd_agents_maintenance),
    VERB("agents service", "NAME", "end the maintenance of a machine", NULL, plain_options, 1, 1,
         true, false, cmd_agents_service),
    VERB("targets", "", "list targets with prices and free capacity", NULL, plain_options, 0, 0,
         true, false, cmd_targets),
    VERB("targets set", "NAME", "create a target or set its prices", NULL, targets_set_options, 1,
         1, true, false, cmd_targets_set),
    VERB("targets maintenance", "NAME", "start nothing at a target; what runs there goes on", NULL,
         maintenance_options, 1, 1, true, false, cmd_maintenance),
    VERB("targets service", "NAME", "end the maintenance of a target", NULL, plain_options, 1, 1,
         true, false, cmd_maintenance_end),
    VERB("queues", "", "list queues", NULL, plain_options, 0, 0, true, false, cmd_queues),
    VERB("teams", "", "list organisation, teams and projects with what they use", NULL,
         plain_options, 0, 0, true, false, cmd_teams),
    VERB("quota", "", "what a project may use and uses", NULL, of_project_options, 0, 0, true,
         false, cmd_quota),
    VERB("budget", "", "what a project may spend this month", NULL, of_project_options, 0, 0, true,
         false, cmd_budget),
    VERB("secrets", "", "list secrets of a project: names, never values", NULL, of_project_options,
         0, 0, true, false, cmd_secrets),
    VERB("secrets set", "NAME", "set a secret from standard input or a file", NULL,
         secrets_set_options, 1, 1, true, false, cmd_secrets_set),
    VERB("secrets delete", "NAME", "delete a secret", NULL, of_project_options, 1, 1, true, false,
         cmd_secrets_delete),
    VERB("version", "", "print the versions of client and server", NULL, plain_options, 0, 0, false,
         false, cmd_version),
    VERB("completion", "bash", "print completion for the shell", NULL, none_options, 1, 1, false,
         false, cmd_completion),
    VERB("man", "[VERB]", "print the manual page", NULL, none_options, 0, 2, false, false, cmd_man),
};
const size_t cli_verb_count = ARRAY_LEN(cli_verbs);
