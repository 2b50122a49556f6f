/* The dictionary of metric names: linear probing, doubling at three quarters. The hash needs no
 * seed: whoever chooses the names is the training script itself. */
#include "client/client.h"

#include <stdlib.h>
#include <string.h>

static uint32_t name_hash(const char *text, size_t len)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static void slots_add(uint32_t *slots, uint32_t slot_count, uint32_t hash, uint32_t id)
{
    uint32_t at = hash & (slot_count - 1);

    while (slots[at] != 0)
        at = (at + 1) & (slot_count - 1);
    slots[at] = id + 1;
}

static bool names_grow(struct client_names *names)
{
    uint32_t capacity = names->capacity == 0 ? 64 : names->capacity * 2;
    uint32_t slot_count = capacity * 2;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    char **texts = realloc(names->texts, capacity * sizeof *texts);

    if (texts != NULL)
        names->texts = texts;
    if (texts == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    for (uint32_t id = 0; id < names->count; id++)
        slots_add(slots, slot_count, name_hash(texts[id], strlen(texts[id])), id);
    free(names->slots);
    names->slots = slots;
    names->slot_count = slot_count;
    names->capacity = capacity;
    return true;
}

enum euvyra_code client__names_intern(struct client_names *names, const char *text, size_t len,
                                      uint32_t *ret_id, bool *ret_new)
{
    uint32_t hash = name_hash(text, len);

    for (uint32_t i = 0; i < names->slot_count; i++) {
        uint32_t slot = names->slots[(hash + i) & (names->slot_count - 1)];
        if (slot == 0)
            break;
        const char *known = names->texts[slot - 1];
        if (strncmp(known, text, len) == 0 && known[len] == '\0') {
            *ret_id = slot - 1;
            *ret_new = false;
            return EUVYRA_OK;
        }
    }
    if (names->count > RUNLOG_NAME_ID_MAX)
        return EUVYRA_TOO_LARGE;
    if (names->count == names->capacity && !names_grow(names))
        return EUVYRA_NO_MEMORY;
    char *copy = strndup(text, len);
    if (copy == NULL)
        return EUVYRA_NO_MEMORY;
    names->texts[names->count] = copy;
    slots_add(names->slots, names->slot_count, hash, names->count);
    *ret_id = names->count++;
    *ret_new = true;
    return EUVYRA_OK;
}

void client__names_forget_last(struct client_names *names)
{
    const char *text = names->texts[names->count - 1];
    uint32_t at = name_hash(text, strlen(text)) & (names->slot_count - 1);

    /* It was added last, so no probe sequence of another name runs over its slot. */
    while (names->slots[at] != names->count)
        at = (at + 1) & (names->slot_count - 1);
    names->slots[at] = 0;
    free(names->texts[--names->count]);
}

void client__names_release(struct client_names *names)
{
    for (uint32_t id = 0; id < names->count; id++)
        free(names->texts[id]);
    free(names->texts);
    free(names->slots);
    *names = (struct client_names){0};
}
