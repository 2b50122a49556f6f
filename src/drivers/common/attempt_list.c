/* Names that are ids are attempts; whatever else lies there is not ours. */
#include "drivers/common/attempt_list.h"

#include <dirent.h>

size_t attempt_list(const char *root, struct id *ret_attempts, size_t max)
{
    DIR *dir = opendir(root);
    const struct dirent *item;
    size_t count = 0;

    while (dir && count < max && (item = readdir(dir)) != NULL) {
        if (id_parse(str_from(item->d_name), ID_ATTEMPT, &ret_attempts[count]))
            count++;
    }
    if (dir)
        (void)closedir(dir);
    return count;
}
