/* Runs a fuzz target over the files of its corpus, given as folders: the corpus as an ordinary
 * test, with any compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_BYTES_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(INPUT_BYTES_MAX);

    if (file == NULL || data == NULL)
        return -1;
    size_t size = fread(data, 1, INPUT_BYTES_MAX, file);
    fclose(file);
    uint8_t *exact = malloc(size + 1); /* so that the sanitizer sees a read behind the end */
    if (exact == NULL)
        return -1;
    memcpy(exact, data, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        struct dirent *entry;
        while (dir != NULL && (entry = readdir(dir)) != NULL) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            (void)snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (replay_file(path) != 0)
                return 1;
            count++;
        }
        if (dir != NULL)
            closedir(dir);
    }
    printf("%d inputs replayed\n", count);
    return count > 0 ? 0 : 1;
}
