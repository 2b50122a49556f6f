/* The route table: one row an operation of api/openapi.yaml, made by tools/gen_api.py.
 *
 * A row says who may call, what is audited, how much body is welcome, on which lane the handler
 * runs and which parameters there are; the dispatcher enforces all of it before the handler sees
 * the call. Rows and paths are constants; nothing here allocates. thread: any */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct http_call; /* one request on its way, see http/http_call.h */

/* Runs on the route's lane and fills the answer; an error is rendered by the caller. */
typedef enum err_code (*http_handler_fn)(struct http_call *call, struct err *err);
/* Runs on a worker before a command: slow, pure work such as hashing a password. */
typedef enum err_code (*http_prepare_fn)(struct http_call *call, struct err *err);

enum http_role {
    HTTP_ROLE_PUBLIC, /* anybody, without a credential */
    HTTP_ROLE_USER,   /* any signed-in principal */
    HTTP_ROLE_ADMIN,  /* organisation admins */
    HTTP_ROLE_AGENT,  /* agents */
    HTTP_ROLE_VIEWER, /* at least this role in the project of the scope */
    HTTP_ROLE_EDITOR,
    HTTP_ROLE_OWNER,
};

/* What `scope_param` names: its project is the one in which the role is needed. */
enum http_scope {
    HTTP_SCOPE_NONE,
    HTTP_SCOPE_PROJECT,
    HTTP_SCOPE_RUN,
    HTTP_SCOPE_JOB,
    HTTP_SCOPE_KEY,
};

enum http_principal {
    HTTP_PRINCIPAL_SESSION = 1 << 0, /* a browser session */
    HTTP_PRINCIPAL_USER = 1 << 1,    /* a personal key */
    HTTP_PRINCIPAL_JOB = 1 << 2,     /* a job key */
    HTTP_PRINCIPAL_AGENT = 1 << 3,
    HTTP_PRINCIPAL_SERVICE = 1 << 4,
    HTTP_PRINCIPAL_SETUP = 1 << 5, /* the one-time set-up token */
};

enum http_lane {
    HTTP_LANE_COMMAND, /* the command thread, inside its transaction */
    HTTP_LANE_READ,    /* a worker with a read connection */
    HTTP_LANE_STREAM,  /* turns the exchange into server-sent events */
};

enum http_param_kind { HTTP_PARAM_PATH, HTTP_PARAM_QUERY };
enum http_param_type { HTTP_PARAM_TEXT, HTTP_PARAM_INTEGER, HTTP_PARAM_BOOLEAN };

struct http_param {
    const char *name;
    enum http_param_kind kind;
    bool required;
    enum http_param_type type;
    int64_t min, max;               /* integers; min: fewest bytes of a text */
    size_t bytes_max;               /* text */
    const char *pattern_name;       /* text: "id:r", "label", "login", "digest", or NULL */
    const char *const *enum_values; /* text: NULL-terminated, or NULL */
};

struct http_route {
    int op;                /* an enum http_op */
    const char *operation; /* "run_create" */
    const char *method;
    const char *path; /* "/api/v1/runs/{run}" */
    enum http_role role;
    enum http_scope scope;
    const char *scope_param; /* parameter that names the thing; NULL: the handler checks it */
    uint32_t principals;     /* enum http_principal */
    bool audit;
    size_t body_bytes_max; /* 0: no body */
    bool body_to_file;
    bool body_is_json; /* else the body is bytes */
    bool fenced;       /* the key of a fenced attempt may call it for its own run */
    enum http_lane lane;
    const struct http_param *params; /* path parameters first, in the order of the path */
    size_t param_count;
    http_handler_fn handler;
    http_prepare_fn prepare; /* or NULL */
};

/* One segment of the tree of paths; children lie side by side, literals sorted by bytes, then the
 * one that matches any segment. Node 0 is the root. */
struct http_path_node {
    const char *segment;
    uint16_t segment_len;
    uint16_t first_child;
    uint16_t literal_count;
    bool has_param;
    const struct http_route *const *routes; /* NULL-terminated, or NULL when no path ends here */
    const char *allow;                      /* "GET, HEAD, PUT" */
};

#define HTTP_ROUTE_PARAMS_MAX 6

struct http_route_match {
    const struct http_route *route;           /* NULL: 404, or 405 when `allow` is set */
    const char *allow;                        /* set when the path is known */
    struct str params[HTTP_ROUTE_PARAMS_MAX]; /* path parameters in order, borrowed from `path` */
    size_t param_count;
};

/* Finds the route of a decoded path. A literal segment wins over a parameter; HEAD is served by
 * GET's route; an empty segment matches nothing. */
void http_route_find(const struct http_path_node *nodes, struct str method, struct str path,
                     struct http_route_match *ret_match);

/* Checks a value against what the description promises: ERR_INVALID with the parameter as field.
 * Path parameters that do not fit name nothing: ERR_NOT_FOUND. */
MUST_CHECK enum err_code http_param_check(const struct http_param *param, struct str value,
                                          struct err *err);

/* The shapes of names in bodies; the same as those of parameters. */
bool http_login_is_valid(struct str text);
bool http_label_is_valid(struct str text);
bool http_digest_is_valid(struct str text);
/* Of an environment variable or a secret: letters, digits and '_', no digit first, at most 63. */
bool http_variable_is_valid(struct str text);
