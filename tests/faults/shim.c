/* Preloaded into a program under test: kills it at its n-th write, makes the n-th write, flush,
 * rename or allocation fail, moves its wall clock, or records what reaches the disk in which order.
 *
 *     FAULT_DIR      files below this folder count, others are left alone
 *     FAULT_OPS      which calls count: some of "write,sync,rename,alloc", or "send": what
 *                    goes out over sockets by send(2); where that fails, the socket is cut
 *     FAULT_COUNTER  a file of three numbers of 8 bytes, shared: how many such calls there
 *                    were; whether it is over, and nothing happens any more; how often it did
 *     FAULT_AT       the call that it happens at, from 1; absent: never
 *     FAULT_STACKS   a file that receives the way to every call: 8 bytes, a hash of who called
 *     FAULT_STACK    the way to the call that it happens at, the first time; for FAULT_AT
 *     FAULT_ERRNO    what that call fails with; absent: the program is killed instead, half of
 *                    a write done
 *     FAULT_LASTING  1: all later calls fail too
 *     FAULT_FROM     allocations count only where a library with this in its name asks
 *     FAULT_RECORD   a file that receives every write, flush, rename and answer: struct entry
 *     FAULT_CLOCK    a file of 8 bytes, shared: milliseconds added to the wall clock
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FILES_MAX  1024
#define PATH_MOST  1024
#define STACK_MOST 48
#define NAMELESS   "/.nameless"

enum op { OP_WRITE = 1, OP_SYNC = 2, OP_RENAME = 4, OP_ALLOC = 8, OP_SEND = 16 };
enum kind { K_WRITE, K_TRUNCATE, K_SYNC, K_RENAME, K_UNLINK, K_SEND, K_MKDIR };

/* Then path_len bytes of the path, other_len of a second path, data_len of data. */
struct entry {
    uint32_t kind, path_len, other_len, data_len;
    int64_t offset;
};

static char root[PATH_MOST];
static size_t root_len;
static unsigned ops;
static struct {
    _Atomic uint64_t calls, over, struck;
} * counter;
static _Atomic int64_t *clock_shift;
static const char *fault_from;
static uint64_t fault_at, fault_stack;
static int fault_errno, record_fd = -1, stacks_fd = -1;
static atomic_bool stack_seen;
static bool lasting, ready;
static char paths[FILES_MAX][PATH_MOST];
static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool inside;

static void *shared(const char *name, size_t bytes)
{
    const char *path = getenv(name);
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (fd >= 0)
        (void)syscall(SYS_close, fd);
    return at == MAP_FAILED ? NULL : at;
}

__attribute__((constructor)) static void begin(void)
{
    const char *dir = getenv("FAULT_DIR"), *at = getenv("FAULT_AT"),
               *record = getenv("FAULT_RECORD");
    const char *which = getenv("FAULT_OPS") ? getenv("FAULT_OPS") : "write,sync,rename";
    const char *number = getenv("FAULT_ERRNO"), *stack = getenv("FAULT_STACK"),
               *stacks = getenv("FAULT_STACKS");
    void *frames[1];

    inside = true;
    if (dir)
        (void)snprintf(root, sizeof root, "%s", dir);
    root_len = strlen(root);
    ops = (strstr(which, "write") ? OP_WRITE : 0u) | (strstr(which, "sync") ? OP_SYNC : 0u) |
          (strstr(which, "rename") ? OP_RENAME : 0u) | (strstr(which, "alloc") ? OP_ALLOC : 0u) |
          (strstr(which, "send") ? OP_SEND : 0u);
    counter = shared("FAULT_COUNTER", sizeof *counter);
    clock_shift = shared("FAULT_CLOCK", 8);
    fault_at = at ? strtoull(at, NULL, 10) : 0;
    fault_stack = stack ? strtoull(stack, NULL, 16) : 0;
    fault_from = getenv("FAULT_FROM");
    if (stack || stacks)
        (void)backtrace(frames, 1); /* it asks for memory the first time */
    if (stacks)
        stacks_fd = (int)syscall(SYS_openat, AT_FDCWD, stacks,
                                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    fault_errno = number ? (int)strtol(number, NULL, 10) : 0;
    lasting = getenv("FAULT_LASTING") != NULL;
    if (record)
        record_fd = (int)syscall(SYS_openat, AT_FDCWD, record,
                                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ready = true;
    inside = false;
}

#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (!real)                                                                                     \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

static bool is_ours(const char *path)
{
    return ready && root_len && path && strncmp(path, root, root_len) == 0 &&
           (path[root_len] == '/' || path[root_len] == '\0');
}

static const char *path_of(int fd)
{
    return fd >= 0 && fd < FILES_MAX && paths[fd][0] ? paths[fd] : NULL;
}

/* A file without a name is called NAMELESS in its folder. */
static void opened(int fd, int at_fd, const char *path, int flags)
{
    char full[PATH_MOST + sizeof NAMELESS];

    if (fd < 0 || fd >= FILES_MAX)
        return;
    paths[fd][0] = '\0';
    if (path[0] != '/' && at_fd >= 0 && path_of(at_fd)) {
        (void)snprintf(full, sizeof full, "%s/%s", path_of(at_fd), path);
        path = full;
    }
    if (is_ours(path))
        (void)snprintf(paths[fd], PATH_MOST, "%.*s%s", PATH_MOST - 16, path,
                       (flags & O_TMPFILE) == O_TMPFILE ? NAMELESS : "");
}

/* What happened: which of the fields say something depends on the kind. */
struct event {
    enum kind kind;
    const char *path, *other;
    const void *data;
    size_t len;
    int64_t offset;
};

static void record(const struct event *e)
{
    struct entry entry = {(uint32_t)e->kind, e->path ? (uint32_t)strlen(e->path) : 0,
                          e->other ? (uint32_t)strlen(e->other) : 0, (uint32_t)e->len, e->offset};
    struct iovec parts[] = {{&entry, sizeof entry},
                            {(void *)e->path, entry.path_len},
                            {(void *)e->other, entry.other_len},
                            {(void *)e->data, e->len}};

    if (record_fd < 0)
        return;
    (void)pthread_mutex_lock(&record_lock);
    (void)syscall(SYS_writev, record_fd, parts, 4);
    (void)pthread_mutex_unlock(&record_lock);
}

/* Who called whom down to here, the same in every process: addresses count from where their file is
 * loaded. `inside` is set, or this would find itself. */
static uint64_t stack_hash(void)
{
    void *frames[STACK_MOST];
    int depth = backtrace(frames, STACK_MOST);
    uint64_t hash = 14695981039346656037u;

    for (int i = 2; i < depth; i++) {
        struct dl_find_object found;
        uint64_t at = (uint64_t)(uintptr_t)frames[i];

        if (_dl_find_object(frames[i], &found) == 0)
            at -= (uint64_t)(uintptr_t)found.dlfo_map_start;
        hash = (hash ^ at) * 1099511628211u;
    }
    return hash | 1;
}

/* Whether the call with number `n` is the one, or one behind it that is to fail too. */
static bool is_the_one(uint64_t n)
{
    bool was_inside = inside;
    uint64_t hash;

    if (atomic_load(&counter->over) != 0)
        return false;
    if (stacks_fd < 0 && !fault_stack)
        return fault_at && (n == fault_at || (n > fault_at && lasting));
    if (atomic_load(&stack_seen))
        return lasting;
    inside = true;
    hash = stack_hash();
    if (stacks_fd >= 0)
        (void)syscall(SYS_write, stacks_fd, &hash, sizeof hash);
    inside = was_inside;
    return hash == fault_stack && !atomic_exchange(&stack_seen, true);
}

/* True: this call is to fail, errno is set. Kills the program when that was asked for; `half` does
 * what a torn write leaves. */
static bool strikes(enum op op, int fd, const void *data, size_t len, int64_t offset)
{
    uint64_t n;

    if (!ready || !(ops & op) || !counter)
        return false;
    n = atomic_fetch_add(&counter->calls, 1) + 1;
    if (!is_the_one(n))
        return false;
    (void)atomic_fetch_add(&counter->struck, 1);
    if (fault_errno) {
        errno = fault_errno;
        return true;
    }
    if (data && len > 1) {
        if (offset >= 0)
            (void)syscall(SYS_pwrite64, fd, data, len / 2, offset);
        else
            (void)syscall(SYS_write, fd, data, len / 2);
    }
    (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    REAL(open)
    int fd = real(path, flags, mode);
    opened(fd, -1, path, flags);
    return fd;
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int openat(int at, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    REAL(openat)
    int fd = real(at, path, flags, mode);
    opened(fd, at, path, flags);
    return fd;
}

int openat64(int at, const char *path, int flags, ...) __attribute__((alias("openat")));

int close(int fd)
{
    REAL(close)
    if (fd >= 0 && fd < FILES_MAX)
        paths[fd][0] = '\0';
    return real(fd);
}

ssize_t write(int fd, const void *data, size_t len)
{
    REAL(write)
    const char *path = path_of(fd);
    if (path && strikes(OP_WRITE, fd, data, len, -1))
        return -1;
    int64_t at = path && record_fd >= 0 ? (int64_t)lseek(fd, 0, SEEK_CUR) : -1;
    ssize_t n = real(fd, data, len);
    if (path && n > 0)
        record(&(struct event){
            .kind = K_WRITE, .path = path, .data = data, .len = (size_t)n, .offset = at});
    return n;
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
    REAL(pwrite64)
    const char *path = path_of(fd);
    if (path && strikes(OP_WRITE, fd, data, len, offset))
        return -1;
    ssize_t n = real(fd, data, len, offset);
    if (path && n > 0)
        record(&(struct event){
            .kind = K_WRITE, .path = path, .data = data, .len = (size_t)n, .offset = offset});
    return n;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
    __attribute__((alias("pwrite64")));

int ftruncate64(int fd, off64_t size)
{
    REAL(ftruncate64)
    const char *path = path_of(fd);
    if (path && strikes(OP_WRITE, fd, NULL, 0, -1))
        return -1;
    int code = real(fd, size);
    if (path && code == 0)
        record(&(struct event){.kind = K_TRUNCATE, .path = path, .offset = size});
    return code;
}

int ftruncate(int fd, off_t size) __attribute__((alias("ftruncate64")));

int posix_fallocate64(int fd, off64_t offset, off64_t len)
{
    REAL(posix_fallocate64)
    if (path_of(fd) && strikes(OP_WRITE, fd, NULL, 0, -1))
        return errno;
    return real(fd, offset, len);
}

int posix_fallocate(int fd, off_t offset, off_t len) __attribute__((alias("posix_fallocate64")));

static int flush(int fd, int (*real)(int))
{
    const char *path = path_of(fd);
    if (path && strikes(OP_SYNC, fd, NULL, 0, -1))
        return -1;
    int code = real(fd);
    if (path && code == 0)
        record(&(struct event){.kind = K_SYNC, .path = path});
    return code;
}

int fsync(int fd)
{
    REAL(fsync)
    return flush(fd, real);
}

int fdatasync(int fd)
{
    REAL(fdatasync)
    return flush(fd, real);
}

int rename(const char *from, const char *to)
{
    REAL(rename)
    if (is_ours(from) && strikes(OP_RENAME, -1, NULL, 0, -1))
        return -1;
    int code = real(from, to);
    if (code == 0 && is_ours(from))
        record(&(struct event){.kind = K_RENAME, .path = from, .other = to});
    return code;
}

int unlink(const char *path)
{
    REAL(unlink)
    if (is_ours(path) && strikes(OP_RENAME, -1, NULL, 0, -1))
        return -1;
    int code = real(path);
    if (code == 0 && is_ours(path))
        record(&(struct event){.kind = K_UNLINK, .path = path});
    return code;
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir)
    if (is_ours(path) && strikes(OP_RENAME, -1, NULL, 0, -1))
        return -1;
    int code = real(path, mode);
    if (code == 0 && is_ours(path))
        record(&(struct event){.kind = K_MKDIR, .path = path});
    return code;
}

/* Answers that leave: what they acknowledge has to be on the disk by then. */
ssize_t send(int fd, const void *data, size_t len, int flags)
{
    REAL(send)
    if (record_fd >= 0 && len > 12 && memcmp(data, "HTTP/1.1 20", 11) == 0)
        record(&(struct event){.kind = K_SEND, .data = data, .len = len});
    if (strikes(OP_SEND, fd, data, len, -1)) {
        (void)shutdown(fd, SHUT_RDWR); /* whoever sees the error finds nobody there */
        return -1;
    }
    return real(fd, data, len, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    REAL(sendmsg)
    if (record_fd >= 0 && message->msg_iovlen && message->msg_iov[0].iov_len > 12 &&
        memcmp(message->msg_iov[0].iov_base, "HTTP/1.1 20", 11) == 0)
        record(&(struct event){.kind = K_SEND,
                               .data = message->msg_iov[message->msg_iovlen - 1].iov_base,
                               .len = message->msg_iov[message->msg_iovlen - 1].iov_len});
    return real(fd, message, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    REAL(writev)
    if (record_fd >= 0 && count > 0 && parts[0].iov_len > 12 &&
        memcmp(parts[0].iov_base, "HTTP/1.1 20", 11) == 0)
        record(&(struct event){
            .kind = K_SEND, .data = parts[count - 1].iov_base, .len = parts[count - 1].iov_len});
    return real(fd, parts, count);
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
    REAL(clock_gettime)
    int code = real(id, ret);
    if (code == 0 && clock_shift && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        int64_t ms = atomic_load(clock_shift);
        int64_t all = ret->tv_sec * 1000 + ret->tv_nsec / 1000000 + ms;
        ret->tv_sec = all / 1000;
        ret->tv_nsec = all % 1000 * 1000000;
    }
    return code;
}

/* Allocations count only in the program itself, once it runs: FAULT_OPS has "alloc". dlsym asks for
 * memory itself, which the libc's own functions give. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *at, size_t bytes);

static bool is_from(const void *caller)
{
    struct dl_find_object found;

    return !fault_from || (_dl_find_object((void *)(uintptr_t)caller, &found) == 0 &&
                           strstr(found.dlfo_link_map->l_name, fault_from));
}

static bool no_memory(const void *caller)
{
    bool fails;

    if (inside || !ready || !(ops & OP_ALLOC) || !is_from(caller))
        return false;
    inside = true;
    fails = strikes(OP_ALLOC, -1, NULL, 0, -1);
    inside = false;
    if (fails)
        errno = ENOMEM;
    return fails;
}

void *malloc(size_t bytes)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *at, size_t bytes)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_realloc(at, bytes);
}
