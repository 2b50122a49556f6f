/* See _watch.c. */
#pragma once

#include <stdbool.h>

/* Watches process `pid`, which reads the pipes whose read ends are also `read_fds`; descriptors 1
 * and 2 write into them, `saved_fds` are what they were. 0 or a negative errno.
 * thread: the interpreter's */
int euvyra_watch_start(int pid, const int read_fds[2], const int saved_fds[2]);
/* The streams are about to be given back: its end is no accident any more. False: it died before,
 * they were given back, and the descriptors stay in use. thread: the interpreter's */
bool euvyra_watch_stop(void);
