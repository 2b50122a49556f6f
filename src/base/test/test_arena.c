/* Facts about arenas. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void memory_is_zeroed_and_aligned_also_after_a_reset(void **state)
{
    struct arena arena = {0};

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t bytes = 0; bytes < 300; bytes++) {
            unsigned char *p = arena_alloc(&arena, bytes);

            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t i = 0; i < bytes; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xaa, bytes);
        }
        arena_reset(&arena);
    }
    arena_release(&arena);
}

static void texts_and_huge_pieces_live_side_by_side(void **state)
{
    struct arena arena = {0};

    (void)state;
    char *text = arena_text(&arena, STR("abc"));
    char *huge = arena_alloc(&arena, 5000000);
    char *line = arena_printf(&arena, "%s-%d", text, 7);

    memset(huge, 1, 5000000);
    assert_string_equal(text, "abc");
    assert_string_equal(line, "abc-7");
    assert_true(str_eq_c(arena_copy(&arena, str_n("xyz", 2)), "xy"));
    assert_true(arena.total_bytes >= 5000000);
    arena_reset(&arena);
    arena_release(&arena);
    assert_int_equal(arena.total_bytes, 0);
}

static void what_is_adopted_lives_on(void **state)
{
    struct arena arena = {0}, other = {0}, empty = {0};

    (void)state;
    char *own = arena_text(&arena, STR("own"));
    char *taken = arena_text(&other, STR("taken"));
    size_t bytes = arena.total_bytes + other.total_bytes;
    arena_adopt(&arena, &other);
    arena_adopt(&arena, &empty);
    assert_null(other.blocks);
    assert_int_equal(arena.total_bytes, bytes);
    assert_string_equal(arena_text(&arena, STR("more")), "more");
    assert_string_equal(own, "own");
    assert_string_equal(taken, "taken");
    arena_adopt(&empty, &arena); /* by one that has nothing */
    assert_string_equal(arena_text(&empty, STR("more")), "more");
    assert_string_equal(own, "own");
    arena_release(&empty);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned_also_after_a_reset),
        cmocka_unit_test(texts_and_huge_pieces_live_side_by_side),
        cmocka_unit_test(what_is_adopted_lives_on),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
