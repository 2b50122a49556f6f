/* A datagram socket that is connected asks the routing table. */
#include "net/local_address.h"

#include "sys/file.h"

#include <curl/curl.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANY_PORT "9" /* nothing is sent there */

static enum err_code host_of(const char *url, char *ret_host, size_t size, struct err *err)
{
    CURLU *parts = curl_url();
    char *host = NULL;
    bool found = parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
                 curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK;

    if (found) { /* [::1] */
        size_t skip = host[0] == '[' ? 1 : 0, len = strlen(host) - 2 * skip;

        found = len < size;
        (void)snprintf(ret_host, size, "%.*s", (int)len, host + skip);
    }
    curl_free(host);
    curl_url_cleanup(parts);
    return found ? OK : err_set(err, ERR_INVALID, "\"%.200s\" is not a URL with a host", url);
}

static enum err_code ask_route(const struct addrinfo *to, char *ret_address, size_t size,
                               struct err *err)
{
    CLEANUP(file_close) int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage own;
    socklen_t len = sizeof(own);

    if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &len) != 0)
        return err_set_errno(err, ERR_UNAVAILABLE, errno, "no way to the server");
    if (getnameinfo((struct sockaddr *)&own, len, ret_address, (socklen_t)size, NULL, 0,
                    NI_NUMERICHOST) != 0)
        return err_set(err, ERR_UNAVAILABLE, "this machine's address cannot be written down");
    return OK;
}

enum err_code net_local_address(const char *url, char *ret_address, size_t size, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    enum err_code code;
    char host[256];
    int problem;

    TRY(host_of(url, host, sizeof(host), err));
    problem = getaddrinfo(host, ANY_PORT, &hints, &found);
    if (problem != 0)
        return err_set(err, ERR_UNAVAILABLE, "%s: %s", host, gai_strerror(problem));
    code = ask_route(found, ret_address, size, err);
    freeaddrinfo(found);
    return code;
}

enum err_code net_free_port(int *ret_port, struct err *err)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    CLEANUP(file_close) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(any);

    if (fd < 0 || bind(fd, (struct sockaddr *)&any, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&any, &len) != 0)
        return err_set_errno(err, ERR_UNAVAILABLE, errno, "no port is free");
    *ret_port = ntohs(any.sin_port);
    return OK;
}
