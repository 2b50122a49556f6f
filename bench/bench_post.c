/* Posts run logs to a server as fast as it takes them, each client a run of its own:
 *
 *     EUVYRA_API_KEY=... bench_post PORT CLIENTS METRICS ROWS_A_POST POSTS
 *
 * Every post waits for its acknowledgement. Prints one JSON line: posts, points, seconds, the
 * median wait, and the ids of the runs. The metrics
 * are what a training logs, kind after kind: a noisy loss of float32s, an accuracy in 512ths, a
 * cosine learning rate, a gradient norm, GPU use, temperature, power, tokens a second, memory in
 * steps, a loss with four decimals. Steps count up, and a step takes about 410 ms. */
#include "runlog/crc.h"
#include "runlog/encode.h"
#include "runlog/format.h"
#include "sys/random.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct client {
    pthread_t thread;
    int port, metrics, rows, posts;
    int64_t step, clock_ms;
    uint64_t random;
    double walks[3];
    struct id run, writer;
    int64_t offset;
    uint32_t crc;
    double *waits_ms;
    const char *key;
};

static double seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void stop(const char *what)
{
    (void)fprintf(stderr, "bench_post: %s\n", what);
    exit(1);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Nearly Gaussian, deviation 0.05: the sum of the four parts of one random word. */
static double noise(uint64_t *state)
{
    uint64_t w = next_random(state);
    uint64_t sum = (w & 0xffff) + (w >> 16 & 0xffff) + (w >> 32 & 0xffff) + (w >> 48);

    return ((double)sum / 65536 - 2) * 0.0866;
}

static int dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        stop("cannot connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* Sends a request and reads its answer, which must be 200 or 201. */
static void exchange(int fd, const char *head, const void *body, size_t body_len)
{
    char answer[8192];
    size_t len = 0, wanted = 0, sent = 0, head_len = strlen(head);

    while (sent < head_len + body_len) {
        struct iovec parts[2] = {{(char *)head + sent, sent < head_len ? head_len - sent : 0},
                                 {(char *)body, body_len}};
        if (sent >= head_len) {
            parts[0].iov_len = 0;
            parts[1].iov_base = (char *)body + (sent - head_len);
            parts[1].iov_len = body_len - (sent - head_len);
        }
        ssize_t n = writev(fd, parts, 2);
        if (n <= 0)
            stop("cannot send");
        sent += (size_t)n;
    }
    while (!wanted || len < wanted) {
        ssize_t n = read(fd, answer + len, sizeof answer - 1 - len);
        const char *end, *length;
        if (n <= 0)
            stop("no answer");
        len += (size_t)n;
        answer[len] = '\0';
        end = strstr(answer, "\r\n\r\n");
        length = end ? strcasestr(answer, "\r\nContent-Length:") : NULL;
        if (length)
            wanted = (size_t)(end - answer) + 4 + strtoul(length + 17, NULL, 10);
    }
    if (strncmp(answer, "HTTP/1.1 20", 11) != 0)
        stop(answer);
}

#define KINDS 10

/* Walks of GPU use, temperature and power go on from step to step. */
static double walk(struct client *c, int which, double sigma, double step)
{
    double next = c->walks[which] + noise(&c->random) / 0.05 * sigma;

    c->walks[which] = next < 0 ? 0 : next > 100 ? 100 : next;
    return (double)(int64_t)(c->walks[which] / step + 0.5) * step;
}

static double value_of(struct client *c, int kind)
{
    double part = (double)(c->step % 1000000) / 1e6, loss = 2.3 / (1 + 6 * part) + 0.3;

    loss += noise(&c->random);
    switch (kind) {
    case 0: return (double)(float)loss;
    case 1: return (double)(int64_t)((1 - loss / 2.9) * 512) / 512;
    case 2: return 3e-4 * (0.55 + 0.45 * cos(3.14159265358979 * part));
    case 3: return (double)(float)exp(0.1 + 8 * noise(&c->random));
    case 4: return walk(c, 0, 3, 1);
    case 5: return walk(c, 1, 0.3, 1);
    case 6: return (double)(int64_t)(walk(c, 2, 8, 0.01) * 100 + 0.5) / 100;
    case 7: return 1048576 / (0.41 + noise(&c->random) / 5);
    case 8: return (double)(40ll << 30) + (double)(c->step / 200 % 64 * (2ll << 20));
    default: return (double)(int64_t)(loss * 10000 + 0.5) / 10000;
    }
}

static size_t put_row(struct client *c, uint8_t *out)
{
    uint8_t payload[RUNLOG_ROW_BYTES(256)];

    runlog_row_begin(payload, c->step, c->clock_ms, (uint32_t)c->metrics);
    for (int m = 0; m < c->metrics; m++)
        runlog_row_put(payload, (uint32_t)m, (uint32_t)m, value_of(c, m % KINDS));
    c->step++;
    c->clock_ms += 400 + (int64_t)(next_random(&c->random) % 21);
    return runlog_record_encode(RUNLOG_ROW, 0, payload, (uint32_t)RUNLOG_ROW_BYTES(c->metrics),
                                out);
}

static size_t put_names(struct client *c, uint8_t *out)
{
    uint8_t payload[8 + 4 + RUNLOG_NAME_BYTES_MAX];
    char name[32];
    size_t len = 0;

    for (int m = 0; m < c->metrics; m++) {
        int n = snprintf(name, sizeof name, "train/metric_%d", m);
        size_t bytes = runlog_name_encode((uint32_t)m, 0, name, (size_t)n, payload);
        len += runlog_record_encode(RUNLOG_NAMES, 0, payload, (uint32_t)bytes, out + len);
    }
    return len;
}

static void *client_run(void *ctx)
{
    struct client *c = ctx;
    size_t room = (size_t)c->rows * (12 + RUNLOG_ROW_BYTES(c->metrics)) + 80 * (size_t)c->metrics;
    uint8_t *body = malloc(room);
    char head[1024];
    int fd = dial(c->port);

    for (int i = 0; body && i < c->posts; i++) {
        size_t len = i == 0 ? put_names(c, body) : 0;
        double begin;
        for (int row = 0; row < c->rows; row++)
            len += put_row(c, body + len);
        (void)snprintf(head, sizeof head,
                       "POST /api/v1/runs/%s/writers/%s/log HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Authorization: Bearer %s\r\nContent-Type: application/octet-stream\r\n"
                       "Euvyra-Offset: %lld\r\nEuvyra-Crc: %08x\r\nContent-Length: %zu\r\n\r\n",
                       c->run.text, c->writer.text, c->key, (long long)c->offset, c->crc, len);
        begin = seconds_now();
        exchange(fd, head, body, len);
        c->waits_ms[i] = (seconds_now() - begin) * 1000;
        c->offset += (int64_t)len;
        c->crc = runlog_crc(c->crc, body, len);
    }
    free(body);
    (void)close(fd);
    return NULL;
}

static void make_run(struct client *c, int fd)
{
    char head[512];

    (void)snprintf(head, sizeof head,
                   "PUT /api/v1/projects/demo/runs/%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                   "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                   "Content-Length: 2\r\n\r\n",
                   c->run.text, c->key);
    exchange(fd, head, "{}", 2);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(struct client *clients, int count, double seconds)
{
    int posts = clients[0].posts;
    double *all = malloc(sizeof(double) * (size_t)count * (size_t)posts);
    size_t n = (size_t)count * (size_t)posts;

    if (!all)
        stop("no memory");
    for (int i = 0; i < count; i++)
        memcpy(all + (size_t)i * (size_t)posts, clients[i].waits_ms,
               sizeof(double) * (size_t)posts);
    qsort(all, n, sizeof *all, by_value);
    printf("{\"posts\": %zu, \"points\": %zu, \"seconds\": %.6f, \"ack_ms_p50\": %.4f, \"runs\": [",
           n, n * (size_t)clients[0].rows * (size_t)clients[0].metrics, seconds, all[n / 2]);
    for (int i = 0; i < count; i++)
        printf("%s\"%s\"", i ? ", " : "", clients[i].run.text);
    printf("]}\n");
    free(all);
}

int main(int argc, char **argv)
{
    struct client *clients;
    int numbers[5], count, fd;
    double begin;

    if (argc != 6 || !getenv("EUVYRA_API_KEY"))
        stop("EUVYRA_API_KEY=... bench_post PORT CLIENTS METRICS ROWS_A_POST POSTS");
    for (int i = 0; i < 5; i++)
        numbers[i] = (int)strtol(argv[i + 1], NULL, 10);
    count = numbers[1];
    clients = calloc((size_t)count, sizeof *clients);
    if (!clients || numbers[2] < 1 || numbers[2] > 256)
        stop("1 to 256 metrics");
    fd = dial(numbers[0]);
    for (int i = 0; i < count; i++) {
        clients[i] = (struct client){.port = numbers[0],
                                     .metrics = numbers[2],
                                     .rows = numbers[3],
                                     .posts = numbers[4],
                                     .clock_ms = 1790000000000,
                                     .random = 88172645463325252ull + (uint64_t)i,
                                     .walks = {50, 50, 50},
                                     .run = random_id(ID_RUN),
                                     .writer = random_id(ID_WRITER),
                                     .key = getenv("EUVYRA_API_KEY")};
        clients[i].waits_ms = calloc((size_t)numbers[4], sizeof(double));
        make_run(&clients[i], fd);
    }
    begin = seconds_now();
    for (int i = 0; i < count; i++)
        if (pthread_create(&clients[i].thread, NULL, client_run, &clients[i]) != 0)
            stop("no thread");
    for (int i = 0; i < count; i++)
        (void)pthread_join(clients[i].thread, NULL);
    report(clients, count, seconds_now() - begin);
    return 0;
}
