/* Reading a kubeconfig. It is YAML, of which libyaml gives a tree of nodes; as JSON values it is
 * then looked up by name. Only tokens are taken: an agent's account has one. */
#include "drivers/executor/kubernetes/kube_config.h"

#include "base/arena.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"
#include "sys/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#define FILE_BYTES_MAX (1024 * 1024)
#define NODES_MAX      20000
#define POD_FOLDER     "/var/run/secrets/kubernetes.io/serviceaccount"

static json_t *json_of(yaml_document_t *doc, int index, int depth, int *nodes_left);

static json_t *mapping_of(yaml_document_t *doc, const yaml_node_t *node, int depth, int *nodes_left)
{
    json_t *object = json_object();

    for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(doc, p->key);

        if (key && key->type == YAML_SCALAR_NODE)
            (void)json_object_set_new(object, (const char *)key->data.scalar.value,
                                      json_of(doc, p->value, depth + 1, nodes_left));
    }
    return object;
}

/* Depth and count are bounded: an alias may stand for much. */
static json_t *json_of(yaml_document_t *doc, int index, int depth, int *nodes_left)
{
    const yaml_node_t *node = yaml_document_get_node(doc, index);
    json_t *array;

    if (!node || depth > JSON_DEPTH_MAX || --*nodes_left < 0)
        return json_null();
    switch (node->type) {
    case YAML_SCALAR_NODE: return json_string((const char *)node->data.scalar.value);
    case YAML_MAPPING_NODE: return mapping_of(doc, node, depth, nodes_left);
    case YAML_SEQUENCE_NODE:
        array = json_array();
        for (yaml_node_item_t *i = node->data.sequence.items.start;
             i < node->data.sequence.items.top; i++)
            (void)json_array_append_new(array, json_of(doc, *i, depth + 1, nodes_left));
        return array;
    default: return json_null();
    }
}

static enum err_code read_yaml(const char *path, json_t **ret_value, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    int nodes_left = NODES_MAX;
    yaml_parser_t parser;
    yaml_document_t doc;
    enum err_code code = OK;

    TRY(file_read(path, FILE_BYTES_MAX, &text, err));
    ENSURE(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.len);
    if (yaml_parser_load(&parser, &doc)) {
        *ret_value = json_of(&doc, 1, 0, &nodes_left);
        yaml_document_delete(&doc);
    } else {
        code = err_set(err, ERR_INVALID, "%.300s: %s in line %zu", path,
                       parser.problem ? parser.problem : "no YAML", parser.problem_mark.line + 1);
    }
    yaml_parser_delete(&parser);
    return code;
}

static const char *text_in(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text && text[0] ? text : NULL;
}

/* The member `what` of the item of the list `list` that is called `name`. */
static const json_t *named(const json_t *root, const char *list, const char *name, const char *what)
{
    size_t i;
    json_t *item;

    json_array_foreach(json_object_get(root, list), i, item)
    {
        const char *text = text_in(item, "name");

        if (text && name && strcmp(text, name) == 0)
            return json_object_get(item, what);
    }
    return NULL;
}

/* Relative names in a kubeconfig are relative to its folder. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char joined[PATH_MAX];

    if (name[0] == '/' || !slash)
        return mem_copy_text(name);
    (void)snprintf(joined, sizeof(joined), "%.*s/%s", (int)(slash - path), path, name);
    return mem_copy_text(joined);
}

static enum err_code take_ca(struct kube_config *config, const char *path, const json_t *cluster,
                             struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(mem_free_text) char *file = NULL;
    const char *data = text_in(cluster, "certificate-authority-data");
    const char *name = text_in(cluster, "certificate-authority");
    struct str pem;

    if (data) {
        if (!base64_decode(str_from(data), &arena, &pem))
            return err_set(err, ERR_INVALID, "%.300s: certificate-authority-data is not base64",
                           path);
        config->ca_pem = mem_copy_text(arena_text(&arena, pem));
    } else if (name) {
        file = beside(path, name);
        TRY(file_read(file, FILE_BYTES_MAX, &text, err));
        config->ca_pem = mem_copy_text(arena_text(&arena, buf_str(&text)));
    }
    return OK;
}

static enum err_code take_token(struct kube_config *config, const char *path, const json_t *user,
                                struct err *err)
{
    const char *token = text_in(user, "token"), *file = text_in(user, "tokenFile");

    config->token = mem_copy_text(token);
    if (file)
        config->token_file = beside(path, file);
    if (token || file)
        return OK;
    (void)err_set(err, ERR_INVALID, "%.300s: its user has neither token nor tokenFile", path);
    err_hint(err, "docs/kubernetes.md shows how a service account of the agent gets one");
    return ERR_INVALID;
}

static enum err_code take_server(struct kube_config *config, const char *path, const char *server,
                                 struct err *err)
{
    size_t len;

    if (!server || strncmp(server, "https://", 8) != 0)
        return err_set(err, ERR_INVALID, "%.300s: the cluster's server \"%.100s\" is not https",
                       path, server ? server : "");
    config->server = mem_copy_text(server);
    len = strlen(server);
    if (config->server[len - 1] == '/')
        config->server[len - 1] = '\0';
    return OK;
}

static enum err_code take_space(struct kube_config *config, const char *where, const char *space,
                                struct err *err)
{
    if (!space)
        return err_set(err, ERR_INVALID, "%.300s names no namespace, and neither does --namespace",
                       where);
    if (!str_is_label(str_from(space), KUBE_NAME_BYTES - 1))
        return err_set(err, ERR_INVALID, "\"%.80s\" is not the name of a namespace", space);
    (void)snprintf(config->space, sizeof(config->space), "%s", space);
    return OK;
}

static enum err_code load_file(const char *path, const char *space, struct kube_config *config,
                               struct err *err)
{
    CLEANUP(json_release) json_t *root = NULL;
    const json_t *context, *cluster;

    TRY(read_yaml(path, &root, err));
    context = named(root, "contexts", text_in(root, "current-context"), "context");
    if (!context)
        return err_set(err, ERR_INVALID, "%.300s: current-context names no context", path);
    cluster = named(root, "clusters", text_in(context, "cluster"), "cluster");
    TRY(take_server(config, path, text_in(cluster, "server"), err));
    TRY(take_ca(config, path, cluster, err));
    TRY(take_token(config, path, named(root, "users", text_in(context, "user"), "user"), err));
    return take_space(config, path, space ? space : text_in(context, "namespace"), err);
}

static enum err_code load_pod(const char *space, struct kube_config *config, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf ca = {0};
    CLEANUP(buf_release) struct buf own = {0};
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    bool bare_v6 = host && strchr(host, ':') != NULL;

    if (!host || !port) {
        (void)err_set(err, ERR_INVALID, "--kubeconfig is missing, and this is no pod");
        err_hint(err, "docs/kubernetes.md");
        return ERR_INVALID;
    }
    TRY(file_read(POD_FOLDER "/ca.crt", FILE_BYTES_MAX, &ca, err));
    TRY(file_read(POD_FOLDER "/namespace", FILE_BYTES_MAX, &own, err));
    config->ca_pem = mem_copy_text(arena_text(&arena, buf_str(&ca)));
    config->token_file = mem_copy_text(POD_FOLDER "/token");
    config->server = mem_copy_text(arena_printf(
        &arena, bare_v6 ? "https://[%.200s]:%.10s" : "https://%.200s:%.10s", host, port));
    return take_space(config, POD_FOLDER,
                      space ? space : arena_text(&arena, str_trim(buf_str(&own))), err);
}

enum err_code kube_config_load(const char *path, const char *space, struct kube_config *ret_config,
                               struct err *err)
{
    enum err_code code;

    *ret_config = (struct kube_config){0};
    code = path ? load_file(path, space, ret_config, err) : load_pod(space, ret_config, err);
    if (code != OK)
        kube_config_release(ret_config);
    return code;
}

void kube_config_release(struct kube_config *config)
{
    if (config->token)
        explicit_bzero(config->token, strlen(config->token));
    mem_free(config->server);
    mem_free(config->ca_pem);
    mem_free(config->token);
    mem_free(config->token_file);
    *config = (struct kube_config){0};
}
