/* Scanning /proc. */
#include "drivers/executor/process/proc_scan.h"

#include "base/mem.h"
#include "sys/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define ENVIRON_BYTES_MAX (4 * 1024 * 1024)

struct proc_entry {
    pid_t pid, parent;
    bool chosen;
};

static bool read_parent(pid_t pid, pid_t *ret_parent)
{
    char path[40], text[512];
    int64_t parent;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);

    CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

    if (got <= 0)
        return false;
    text[got] = '\0';

    const char *name_end = strrchr(text, ')'); /* the name itself may hold anything */

    if (!name_end || strlen(name_end) < 5 || name_end[2] == 'Z')
        return false;

    struct str rest = str_from(name_end + 4), field;

    (void)str_cut(&rest, ' ', &field); /* a line without a blank fails below */
    if (!str_to_i64(field, &parent))
        return false;
    *ret_parent = (pid_t)parent;
    return true;
}

/* All processes that are not zombies; the caller frees. */
static struct proc_entry *scan(size_t *ret_count)
{
    struct proc_entry *entries = mem_array(PROC_SCAN_MAX, sizeof(entries[0]));
    DIR *dir = opendir("/proc");
    struct dirent *item;
    size_t count = 0;

    while (dir && count < PROC_SCAN_MAX && (item = readdir(dir)) != NULL) {
        int64_t pid;

        if (!str_to_i64(str_from(item->d_name), &pid) || pid <= 1 || pid > INT32_MAX)
            continue;
        entries[count].pid = (pid_t)pid;
        if (read_parent((pid_t)pid, &entries[count].parent))
            count++;
    }
    if (dir)
        (void)closedir(dir);
    *ret_count = count;
    return entries;
}

static bool is_chosen(const struct proc_entry *entries, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++) {
        if (entries[i].pid == pid)
            return entries[i].chosen;
    }
    return false;
}

static size_t signal_chosen(const struct proc_entry *entries, size_t count, int signal_number)
{
    size_t signalled = 0;

    for (size_t i = 0; i < count; i++) {
        if (!entries[i].chosen)
            continue;
        (void)kill(entries[i].pid, signal_number); /* gone meanwhile: fine */
        signalled++;
    }
    return signalled;
}

size_t proc_signal_descendants(pid_t root, int signal_number)
{
    size_t count = 0, signalled;
    struct proc_entry *entries = scan(&count);
    bool changed = true;

    while (changed) { /* each round adds at least one: at most `count` rounds */
        changed = false;
        for (size_t i = 0; i < count; i++) {
            struct proc_entry *entry = &entries[i];

            if (entry->chosen || entry->pid == root)
                continue;
            entry->chosen = entry->parent == root || is_chosen(entries, count, entry->parent);
            changed = changed || entry->chosen;
        }
    }
    signalled = signal_chosen(entries, count, signal_number);
    mem_free(entries);
    return signalled;
}

static bool environ_has(pid_t pid, struct str wanted)
{
    char path[40];
    struct str rest, entry;
    bool found = false, more = true;
    struct buf text;

    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (file_read(path, ENVIRON_BYTES_MAX, &text, NULL) == OK) { /* gone, or not ours: no */
        rest = buf_str(&text);
        while (more && !found) {
            more = str_cut(&rest, '\0', &entry);
            found = str_eq(entry, wanted);
        }
    }
    buf_release(&text);
    return found;
}

size_t proc_signal_marked(struct str entry, int signal_number)
{
    size_t count = 0, signalled;
    struct proc_entry *entries = scan(&count);

    for (size_t i = 0; i < count; i++) {
        entries[i].chosen = entries[i].pid != getpid() && environ_has(entries[i].pid, entry);
    }
    signalled = signal_chosen(entries, count, signal_number);
    mem_free(entries);
    return signalled;
}
