/* Sets of runs, a word at a time. */
#include "domain/runs/run_set.h"

static size_t word_count(const struct run_set *set)
{
    return (size_t)((set->count + 63) / 64);
}

struct run_set run_set_new(struct arena *arena, int64_t low, int64_t high)
{
    struct run_set set = {.low = low, .count = high < low ? 0 : high - low + 1};

    set.words = arena_array(arena, word_count(&set) + 1, sizeof *set.words);
    return set;
}

struct run_set run_set_copy(struct arena *arena, const struct run_set *set)
{
    struct run_set copy = run_set_new(arena, set->low, set->low + set->count - 1);

    memcpy(copy.words, set->words, word_count(set) * sizeof *set->words);
    return copy;
}

void run_set_and(struct run_set *set, const struct run_set *other)
{
    ENSURE(set->low == other->low && set->count == other->count);
    for (size_t i = 0; i < word_count(set); i++)
        set->words[i] &= other->words[i];
}

void run_set_or(struct run_set *set, const struct run_set *other)
{
    ENSURE(set->low == other->low && set->count == other->count);
    for (size_t i = 0; i < word_count(set); i++)
        set->words[i] |= other->words[i];
}

void run_set_minus(struct run_set *set, const struct run_set *other)
{
    ENSURE(set->low == other->low && set->count == other->count);
    for (size_t i = 0; i < word_count(set); i++)
        set->words[i] &= ~other->words[i];
}

void run_set_cut(struct run_set *set, int64_t newest)
{
    for (int64_t bit = MAX(newest - set->low + 1, 0); bit < set->count; bit++)
        set->words[bit / 64] &= ~(1ull << (bit % 64));
}

int64_t run_set_size(const struct run_set *set)
{
    int64_t size = 0;

    for (size_t i = 0; i < word_count(set); i++)
        size += __builtin_popcountll(set->words[i]);
    return size;
}

int64_t run_set_below(const struct run_set *set, int64_t at)
{
    int64_t bit = MIN(at - set->low, set->count - 1);

    while (bit >= 0) {
        uint64_t word = set->words[bit / 64] << (63 - bit % 64);
        if (word)
            return set->low + bit - __builtin_clzll(word);
        bit -= bit % 64 + 1;
    }
    return 0;
}
