/* Reading /proc and /sys. These files have no size, so they are read until they end or the buffer
 * is full; what is cut off is never a reading that we want. */
#include "probe/procfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool probe__read(const char *path, char *ret_text, size_t text_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;

    ret_text[0] = '\0';
    if (fd < 0)
        return false;
    while (len < text_bytes - 1) {
        ssize_t n = read(fd, ret_text + len, text_bytes - 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    close(fd);
    ret_text[len] = '\0';
    return len > 0;
}

bool probe__read_number(const char *path, double *ret_number)
{
    char text[64], *end;

    if (!probe__read(path, text, sizeof text))
        return false;
    double number = strtod(text, &end);
    if (end == text)
        return false;
    *ret_number = number;
    return true;
}

bool probe__field(const char *text, const char *key, char *ret_value, size_t value_bytes)
{
    size_t key_len = strlen(key);

    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *next = strchr(line, '\n');
        const char *end = next != NULL ? next : line + strlen(line);
        const char *at = line + key_len;
        if (strncmp(line, key, key_len) == 0) {
            while (at < end && (*at == ' ' || *at == '\t'))
                at++;
            if (at < end && (*at == ':' || *at == '=')) {
                for (at++; at < end && (*at == ' ' || *at == '\t' || *at == '"'); at++) {
                }
                while (end > at && (end[-1] == '"' || end[-1] == ' '))
                    end--;
                (void)snprintf(ret_value, value_bytes, "%.*s", (int)(end - at), at);
                return true;
            }
        }
        line = next != NULL ? next + 1 : NULL;
    }
    return false;
}
