/* Facts about the hash map. */
#include "base/map.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KEYS 5000

static struct str key_of(int i, char text[16])
{
    return str_n(text, (size_t)snprintf(text, 16, "key-%d", i));
}

static void what_was_put_is_found_until_it_is_taken(void **state)
{
    static int values[KEYS];
    struct map map;
    char text[16];

    (void)state;
    map_init(&map, KEYS);
    for (int i = 0; i < KEYS; i++)
        assert_true(map_put(&map, key_of(i, text), &values[i]));
    assert_false(map_put(&map, STR("one more"), &values[0]));
    assert_true(map_put(&map, STR("key-7"), &values[8])); /* replacing needs no room */
    assert_ptr_equal(map_get(&map, STR("key-7")), &values[8]);
    for (int i = 0; i < KEYS; i += 2)
        assert_non_null(map_take(&map, key_of(i, text)));
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(map_get(&map, key_of(i, text)) != NULL, i % 2);
    assert_null(map_take(&map, STR("key-0")));
    assert_int_equal(map.count, KEYS / 2);
    map_release(&map);
}

static void a_walk_meets_every_entry_once(void **state)
{
    static int seen[KEYS];
    struct map map;
    char text[16];
    size_t cursor = 0, met = 0;
    struct str key;
    void *value;

    (void)state;
    map_seed_set(12345);
    map_init(&map, KEYS);
    assert_null(map_get(&map, STR("nothing")));
    assert_false(map_next(&map, &cursor, &key, &value));
    for (int i = 0; i < KEYS; i++)
        assert_true(map_put(&map, key_of(i, text), &seen[i]));
    while (map_next(&map, &cursor, &key, &value)) {
        *(int *)value += 1;
        met++;
    }
    assert_int_equal(met, KEYS);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(seen[i], 1);
    map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_until_it_is_taken),
        cmocka_unit_test(a_walk_meets_every_entry_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
