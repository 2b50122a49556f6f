#include "folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Flat folders only: that is all that these tests make. */

int folder_make(char ret_path[64])
{
    static const char pattern[] = "/tmp/euvyra-runlog-XXXXXX";

    memcpy(ret_path, pattern, sizeof pattern);
    if (mkdtemp(ret_path) == NULL)
        abort();
    return open(ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void folder_remove(int dir_fd, const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        (void)unlinkat(dir_fd, entry->d_name, 0);
    closedir(dir);
    close(dir_fd);
    (void)rmdir(path);
}
