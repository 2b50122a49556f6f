/* Plays users that submit jobs and agents that run them, against a real server over real HTTP:
 *
 *     EUVYRA_API_KEY=... bench_jobs PORT AGENTS_FILE PLAN_FILE CONNECTIONS [--abandon]
 *
 * AGENTS_FILE has a line an agent: id, key, slots, cpus, memory bytes, gpus. PLAN_FILE has a line a
 * job: milliseconds after the start at which it is submitted, project, class (a number), cpus,
 * gpus, run time in milliseconds, priority. Each agent holds a poll open on a connection of its
 * own; everything else goes over CONNECTIONS shared ones, each of which waits for its answer. A job
 * "runs" by waiting, and ends at once when it is told to: it begins anew then. With --abandon the
 * program ends when the last job is submitted. A submission that is one too many (429, with
 * Retry-After) is counted and left.
 *
 * Prints one JSON line: seconds, jobs ended, attempts ended for others, waits of submissions and of
 * claims (median, 99 of 100), and for each class the mean wait from its submission to its claim, of
 * a job that began anew to its last. */
#include "base/json.h"
#include "base/mem.h"
#include "sys/random.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLASSES      8
#define HELD_MAX     4096
#define IN_BYTES_MAX (32u * 1024 * 1024)
#define JOBS_MAX     2000000

struct job {
    double due, sent, claimed;
    const char *project;
    int class, cpus, gpus, run_ms, priority;
};

struct held {
    char attempt[16], token[48];
    size_t job;
    double began, ends;
    bool over; /* its end has been said, or is about to be */
};

struct agent {
    char id[16], key[128], boot[16];
    long long slots, cpus, memory, gpus;
    struct held *held;
    size_t held_count;
};

enum act { SUBMIT, ACCEPT, RUNNING, ENDED, STOPPED };

/* One thing to say over a shared connection. */
struct todo {
    enum act act;
    size_t job;
    struct agent *agent;
    struct held held;
};

struct conn {
    int fd;
    struct agent *agent; /* its poll; NULL: shared */
    bool busy;
    struct todo todo;
    double sent;
    char *in;
    size_t len, room, wanted;
};

static struct bench {
    int port, epoll;
    const char *key;
    struct agent *agents;
    size_t agent_count;
    struct job *jobs;
    size_t job_count, next_submit, submitted, ended;
    struct conn *conns;
    size_t conn_count, dialled;
    struct todo *todos; /* ring */
    size_t todo_room, todo_head, todo_count;
    size_t *idle; /* shared connections without work */
    size_t idle_count;
    struct todo *heap; /* jobs that run, by held.ends */
    size_t heap_count;
    double *submit_ms, *claim_ms, class_wait[CLASSES];
    size_t submit_count, claim_count, class_count[CLASSES], conflicts, stops, refused;
    double begin, unit_ms;
} b;

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

static _Noreturn void stop(const char *what)
{
    (void)fprintf(stderr, "bench_jobs: %s\n", what);
    exit(1);
}

/* Each connection from an address of its own: a server takes only so many of one. */
static int dial(void)
{
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr = {htonl(INADDR_LOOPBACK + (uint32_t)b.conn_count)}};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)b.port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof from) != 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        stop("cannot connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void send_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n <= 0)
            stop("cannot send");
        data += n;
        len -= (size_t)n;
    }
}

/* Who says it: a key, and for an attempt its token. */
struct by {
    const char *key, *token;
};

static void request(struct conn *c, const char *method, const char *path, struct by by,
                    const char *body)
{
    static char text[IN_BYTES_MAX];
    size_t body_len = strlen(body);
    int n = snprintf(text, sizeof text,
                     "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n%s%s%s"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     method, path, by.key, by.token ? "Euvyra-Attempt-Token: " : "",
                     by.token ? by.token : "", by.token ? "\r\n" : "", body_len, body);

    c->busy = true;
    c->sent = now();
    c->len = c->wanted = 0;
    send_all(c->fd, text, (size_t)n);
}

/* ---- Agents */

static void poll_agent(struct conn *c)
{
    static char body[HELD_MAX * 96 + 512];
    const struct agent *a = c->agent;
    char path[64];
    size_t n = 0;

    n += (size_t)snprintf(body, sizeof body,
                          "{\"boot\":\"%s\",\"version\":\"bench\",\"executor\":\"process\","
                          "\"wait_ms\":60000,\"capacity\":{\"slots\":%lld,\"cpus\":%lld,"
                          "\"memory_bytes\":%lld,\"gpus\":%lld},\"attempts\":[",
                          a->boot, a->slots, a->cpus, a->memory, a->gpus);
    for (size_t i = 0; i < a->held_count; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "%s{\"attempt\":\"%s\",\"token\":\"%s\"}",
                              i ? "," : "", a->held[i].attempt, a->held[i].token);
    (void)snprintf(body + n, sizeof body - n, "]}");
    (void)snprintf(path, sizeof path, "/api/v1/agents/%s/poll", a->id);
    request(c, "POST", path, (struct by){.key = a->key}, body);
}

static void todo_run(struct conn *c, const struct todo *t);

static void todo_add(const struct todo *t)
{
    if (b.idle_count) {
        todo_run(&b.conns[b.idle[--b.idle_count]], t);
        return;
    }
    if (b.todo_count == b.todo_room)
        stop("too much to say");
    b.todos[(b.todo_head + b.todo_count++) % b.todo_room] = *t;
}

static void heap_push(const struct todo *t)
{
    size_t at = b.heap_count++;

    if (b.heap_count > b.job_count * 4)
        stop("too much is ended and begun again");
    while (at && b.heap[(at - 1) / 2].held.ends > t->held.ends) {
        b.heap[at] = b.heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    b.heap[at] = *t;
}

static struct todo heap_pop(void)
{
    struct todo top = b.heap[0], last = b.heap[--b.heap_count];
    size_t at = 0;

    for (size_t child; (child = at * 2 + 1) < b.heap_count; at = child) {
        if (child + 1 < b.heap_count && b.heap[child + 1].held.ends < b.heap[child].held.ends)
            child++;
        if (b.heap[child].held.ends >= last.held.ends)
            break;
        b.heap[at] = b.heap[child];
    }
    b.heap[at] = last;
    return top;
}

static void take_offer(struct agent *a, json_t *offer)
{
    struct todo t = {.act = ACCEPT, .agent = a};
    const char *name = json_string_value(json_object_get(offer, "name"));

    if (a->held_count == HELD_MAX)
        stop("an agent holds too much");
    (void)snprintf(t.held.attempt, sizeof t.held.attempt, "%s",
                   json_string_value(json_object_get(offer, "attempt")));
    (void)snprintf(t.held.token, sizeof t.held.token, "%s",
                   json_string_value(json_object_get(offer, "token")));
    t.held.job = t.job = strtoul(name, NULL, 10);
    a->held[a->held_count++] = t.held;
    todo_add(&t);
}

static void let_go(struct agent *a, const char *attempt)
{
    for (size_t i = 0; i < a->held_count; i++)
        if (strcmp(a->held[i].attempt, attempt) == 0) {
            a->held[i] = a->held[--a->held_count];
            return;
        }
}

static struct held *find_held(struct agent *a, const char *attempt)
{
    for (size_t i = 0; i < a->held_count; i++)
        if (strcmp(a->held[i].attempt, attempt) == 0)
            return &a->held[i];
    return NULL;
}

/* From now on its end is said, once: false if it was before, or the attempt is gone. */
static bool ends_now(struct agent *a, const char *attempt)
{
    struct held *held = find_held(a, attempt);

    if (!held || held->over)
        return false;
    held->over = true;
    return true;
}

static void take_stop(struct agent *a, const char *attempt)
{
    struct todo t = {.act = STOPPED, .agent = a};

    if (!ends_now(a, attempt))
        return;
    t.held = *find_held(a, attempt);
    t.job = t.held.job;
    todo_add(&t);
}

static void polled(struct conn *c, const char *body, size_t len)
{
    json_t *answer = json_loadb(body, len, 0, NULL), *item;
    size_t i;

    if (!answer)
        stop("a poll was answered with something else than JSON");
    json_array_foreach(json_object_get(answer, "offers"), i, item) take_offer(c->agent, item);
    json_array_foreach(json_object_get(answer, "stop"), i, item)
        take_stop(c->agent, json_string_value(item));
    json_array_foreach(json_object_get(answer, "fenced"), i, item)
        let_go(c->agent, json_string_value(item));
    json_decref(answer);
    poll_agent(c);
}

/* ---- Shared connections */

static void todo_run(struct conn *c, const struct todo *t)
{
    char path[128], body[1024];

    c->todo = *t;
    if (t->act == SUBMIT) {
        struct job *j = &b.jobs[t->job];
        struct id job = random_id(ID_JOB), run = random_id(ID_RUN);
        (void)snprintf(path, sizeof path, "/api/v1/projects/%s/jobs/%s", j->project, job.text);
        (void)snprintf(body, sizeof body,
                       "{\"run\":\"%s\",\"name\":\"%zu\",\"priority\":%d,\"spec\":{\"command\":"
                       "[\"true\"],\"cpus\":%d,\"gpus\":%d,\"timeout_s\":3600}}",
                       run.text, t->job, j->priority, j->cpus, j->gpus);
        j->sent = now();
        request(c, "PUT", path, (struct by){.key = b.key}, body);
        return;
    }
    (void)snprintf(path, sizeof path, "/api/v1/attempts/%s/%s", t->held.attempt,
                   t->act == ACCEPT ? "accept" : "status");
    body[0] = '\0';
    if (t->act == RUNNING)
        (void)snprintf(body, sizeof body, "{\"state\":\"running\"}");
    if (t->act == ENDED)
        (void)snprintf(body, sizeof body,
                       "{\"state\":\"ended\",\"exit_code\":0,\"run_time_ms\":%d,\"final\":true}",
                       b.jobs[t->job].run_ms);
    if (t->act == STOPPED)
        (void)snprintf(body, sizeof body,
                       "{\"state\":\"ended\",\"exit_code\":143,\"stopped\":true,"
                       "\"run_time_ms\":%d,\"final\":true}",
                       t->held.began > 0 ? (int)(now() - t->held.began) : 0);
    request(c, "POST", path, (struct by){t->agent->key, t->held.token}, body);
}

static void todo_done(struct conn *c, int status)
{
    struct todo t = c->todo;
    struct held *held;
    double at = now();

    if (status == 429 && t.act == SUBMIT && strcasestr(c->in, "\r\nRetry-After:")) {
        b.refused++;
        return;
    }
    if (status >= 400 && t.act == SUBMIT) {
        (void)fprintf(stderr, "%.*s\n", (int)MIN(c->len, 600), c->in);
        stop("a submission was refused");
    }
    if (status >= 400) { /* fenced: the server knows why */
        b.conflicts++;
        let_go(t.agent, t.held.attempt);
        return;
    }
    switch (t.act) {
    case SUBMIT:
        b.submit_ms[b.submit_count++] = at - c->sent;
        b.submitted++;
        break;
    case ACCEPT:
        if (b.claim_count < b.job_count * 4)
            b.claim_ms[b.claim_count++] = at - c->sent;
        held = find_held(t.agent, t.held.attempt);
        if (!held || held->over)
            break;
        b.jobs[t.job].claimed = at;
        t.act = RUNNING;
        t.held.began = held->began = at;
        t.held.ends = at + b.jobs[t.job].run_ms;
        todo_add(&t);
        break;
    case RUNNING:
        t.act = ENDED;
        heap_push(&t);
        break;
    case STOPPED:
        let_go(t.agent, t.held.attempt);
        b.stops++;
        break;
    case ENDED:
        let_go(t.agent, t.held.attempt);
        b.unit_ms += (double)b.jobs[t.job].cpus * b.jobs[t.job].run_ms;
        b.ended++;
        break;
    }
}

/* True when the answer is whole. */
static bool answer_is_whole(struct conn *c, const char **ret_body, size_t *ret_len)
{
    const char *end, *length;

    c->in[c->len] = '\0';
    end = strstr(c->in, "\r\n\r\n");
    if (!end)
        return false;
    length = strcasestr(c->in, "\r\nContent-Length:");
    if (!length || length > end)
        stop("an answer without a length");
    c->wanted = (size_t)(end - c->in) + 4 + strtoul(length + 17, NULL, 10);
    *ret_body = end + 4;
    *ret_len = c->wanted - (size_t)(*ret_body - c->in);
    return c->len >= c->wanted;
}

/* The server closes what is quiet for long. */
static void dial_again(struct conn *c)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)(c - b.conns)};

    (void)close(c->fd);
    c->fd = dial();
    c->len = 0;
    if (epoll_ctl(b.epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        stop("epoll");
}

static void readable(struct conn *c)
{
    const char *body;
    size_t len;
    ssize_t n;

    if (c->room - c->len < 65536) {
        c->room = c->room * 2 + 65536 * 2;
        c->in = mem_grow(c->in, c->room);
    }
    n = read(c->fd, c->in + c->len, c->room - c->len - 1);
    if (n <= 0 && !c->busy) {
        dial_again(c);
        return;
    }
    if (n <= 0)
        stop("the server closed a connection");
    c->len += (size_t)n;
    if (!answer_is_whole(c, &body, &len))
        return;
    c->busy = false;
    if (c->agent) {
        if (strncmp(c->in + 9, "200", 3) != 0)
            stop(c->in);
        polled(c, body, len);
        return;
    }
    todo_done(c, (int)strtol(c->in + 9, NULL, 10));
    if (b.todo_count) {
        struct todo next = b.todos[b.todo_head];
        b.todo_head = (b.todo_head + 1) % b.todo_room;
        b.todo_count--;
        todo_run(c, &next);
    } else if (!c->busy) {
        b.idle[b.idle_count++] = (size_t)(c - b.conns);
    }
}

/* ---- Input, loop, output */

static void read_agents(const char *path)
{
    FILE *file = fopen(path, "r");
    struct agent a = {0};

    b.agents = mem_array(10000, sizeof *b.agents);
    while (file && fscanf(file, "%15s %127s %lld %lld %lld %lld", a.id, a.key, &a.slots, &a.cpus,
                          &a.memory, &a.gpus) == 6) {
        (void)snprintf(a.boot, sizeof a.boot, "%.12s", random_id(ID_AGENT).text + 1);
        a.held = mem_array(HELD_MAX, sizeof *a.held);
        b.agents[b.agent_count++] = a;
    }
    if (file)
        (void)fclose(file);
}

static void read_plan(const char *path)
{
    FILE *file = fopen(path, "r");
    char project[64];
    struct job j = {0};

    b.jobs = mem_array(JOBS_MAX, sizeof *b.jobs);
    while (file && fscanf(file, "%lf %63s %d %d %d %d %d", &j.due, project, &j.class, &j.cpus,
                          &j.gpus, &j.run_ms, &j.priority) == 7) {
        j.project = mem_copy_text(project);
        b.jobs[b.job_count++] = j;
    }
    if (!file || b.job_count == 0)
        stop("no plan");
    (void)fclose(file);
}

static void add_conn(struct agent *agent)
{
    struct conn *c = &b.conns[b.conn_count];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = b.conn_count++};

    *c = (struct conn){.fd = dial(), .agent = agent};
    if (epoll_ctl(b.epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        stop("epoll");
}

static void open_all(size_t shared)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    b.epoll = epoll_create1(EPOLL_CLOEXEC);
    b.conns = mem_array(b.agent_count + shared, sizeof *b.conns);
    b.idle = mem_array(shared, sizeof *b.idle);
    b.todo_room = b.job_count * 4 + 1000;
    b.todos = mem_array(b.todo_room, sizeof *b.todos);
    b.heap = mem_array(b.job_count * 4 + 1, sizeof *b.heap);
    b.submit_ms = mem_array(b.job_count, sizeof(double));
    b.claim_ms = mem_array(b.job_count * 4, sizeof(double));
    for (size_t i = 0; i < b.agent_count; i++) {
        add_conn(&b.agents[i]);
        poll_agent(&b.conns[i]);
    }
    for (size_t i = 0; i < shared; i++) {
        add_conn(NULL);
        b.idle[b.idle_count++] = b.conn_count - 1;
    }
}

/* Starts what is due; returns how long nothing is, in milliseconds. */
static int due_things(void)
{
    double at = now(), next = at + 1000;

    while (b.next_submit < b.job_count && b.jobs[b.next_submit].due + b.begin <= at &&
           b.idle_count) {
        struct todo t = {.act = SUBMIT, .job = b.next_submit++};
        todo_add(&t);
    }
    while (b.heap_count && b.heap[0].held.ends <= at) {
        struct todo t = heap_pop();
        if (ends_now(t.agent, t.held.attempt))
            todo_add(&t);
    }
    if (b.next_submit < b.job_count && b.idle_count)
        next = MIN(next, b.jobs[b.next_submit].due + b.begin);
    if (b.heap_count)
        next = MIN(next, b.heap[0].held.ends);
    return next <= at ? 0 : (int)(next - at) + 1;
}

static int by_value(const void *x, const void *y)
{
    double u = *(const double *)x, v = *(const double *)y;
    return (u > v) - (u < v);
}

static double part(double *list, size_t count, double of)
{
    qsort(list, count, sizeof *list, by_value);
    return count ? list[MIN((size_t)((double)count * of), count - 1)] : 0;
}

int main(int argc, char **argv)
{
    bool abandon = argc > 5 && strcmp(argv[5], "--abandon") == 0;
    struct epoll_event events[512];
    double last_submit = 0;

    if (argc < 5)
        stop("usage: bench_jobs PORT AGENTS_FILE PLAN_FILE CONNECTIONS [--abandon]");
    b.port = (int)strtol(argv[1], NULL, 10);
    b.key = getenv("EUVYRA_API_KEY");
    read_agents(argv[2]);
    read_plan(argv[3]);
    b.begin = now();
    open_all(strtoul(argv[4], NULL, 10));
    b.begin = now();
    while ((abandon ? b.submitted : b.ended) + b.refused < b.job_count) {
        int n = epoll_wait(b.epoll, events, 512, due_things());
        for (int i = 0; i < n; i++)
            readable(&b.conns[events[i].data.u64]);
        if (last_submit == 0 && b.submitted + b.refused == b.job_count)
            last_submit = now() - b.begin;
    }
    for (size_t i = 0; i < b.job_count && !abandon; i++) {
        if (b.jobs[i].claimed == 0)
            continue; /* refused */
        b.class_wait[b.jobs[i].class] += b.jobs[i].claimed - b.jobs[i].sent;
        b.class_count[b.jobs[i].class]++;
    }
    printf("{\"seconds\": %.3f, \"submit_seconds\": %.3f, \"ended\": %zu, \"conflicts\": %zu, "
           "\"stops\": %zu, \"submitted\": %zu, \"refused\": %zu, "
           "\"submit_p50_ms\": %.3f, \"submit_p99_ms\": %.3f, \"claim_p50_ms\": %.3f, "
           "\"claim_p99_ms\": %.3f, \"unit_ms\": %.0f, \"class_wait_ms\": [",
           (now() - b.begin) / 1000, last_submit / 1000, b.ended, b.conflicts, b.stops, b.submitted,
           b.refused, part(b.submit_ms, b.submit_count, 0.5),
           part(b.submit_ms, b.submit_count, 0.99), part(b.claim_ms, b.claim_count, 0.5),
           part(b.claim_ms, b.claim_count, 0.99), b.unit_ms);
    for (int i = 0; i < CLASSES; i++)
        printf("%s%.1f", i ? ", " : "",
               b.class_count[i] ? b.class_wait[i] / (double)b.class_count[i] : 0);
    printf("]}\n");
    return 0;
}
