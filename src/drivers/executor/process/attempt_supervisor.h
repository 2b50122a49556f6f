/* The supervisor of one attempt: `euvyra-agent attempt FOLDER LOCK_FD`, a process of its own
 * session that outlives the agent. It starts the job, ends it when asked or when its time is over,
 * leaves no orphan behind, and writes down how it ended. SIGTERM: stop with a grace. SIGINT: kill
 * now. thread: main of the supervisor process */
#pragma once

/* `lock_fd` holds the lock on FOLDER/lock, taken by who started us. Returns the exit code of the
 * supervisor itself: 0 when exit.json was written. */
int attempt_supervise(const char *folder, int lock_fd);
