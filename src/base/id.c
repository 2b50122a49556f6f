/* Public ids. */
#include "base/id.h"

static const char id_alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

struct id id_make(enum id_kind kind, uint64_t random_bits)
{
    struct id id = {{0}};

    id.text[0] = (char)kind;
    for (size_t i = 1; i < ID_LEN; i++) {
        id.text[i] = id_alphabet[random_bits & 31u];
        random_bits >>= 5;
    }
    return id;
}

bool id_parse(struct str text, enum id_kind kind, struct id *ret_id)
{
    if (text.len != ID_LEN || text.data[0] != (char)kind)
        return false;
    for (size_t i = 1; i < ID_LEN; i++) {
        if (text.data[i] == '\0' || !strchr(id_alphabet, text.data[i]))
            return false;
    }
    memcpy(ret_id->text, text.data, ID_LEN);
    ret_id->text[ID_LEN] = '\0';
    return true;
}
