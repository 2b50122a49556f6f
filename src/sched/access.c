/* Sets of targets as bits, made once per different set. */
#include "sched/access.h"

/* The number of the set, under two independent sums of its bits: two sets that share both do not
 * occur in practice, and the words are compared where they would. */
static uint32_t intern(struct access *a, const uint64_t *bits)
{
    struct memo_key key = {{a->word_count, 0x243f6a8885a308d3, 0x13198a2e03707344, 0}};
    uint64_t *copy;
    uint32_t *set;
    bool fresh;

    for (uint32_t w = 0; w < a->word_count; w++) {
        key.v[1] = (key.v[1] ^ bits[w]) * 0x9e3779b97f4a7c15;
        key.v[2] = (key.v[2] + bits[w]) * 0xbf58476d1ce4e5b9;
        key.v[1] ^= key.v[1] >> 29;
        key.v[2] ^= key.v[2] >> 32;
    }
    set = sched__memo_get(&a->numbers, key, &fresh);
    if (!fresh && memcmp(a->sets[*set], bits, a->word_count * sizeof *bits) == 0)
        return *set;
    *set = (uint32_t)a->count;
    copy = arena_array(a->numbers.arena, a->word_count, sizeof *copy);
    memcpy(copy, bits, a->word_count * sizeof *bits);
    a->sets = arena_more(a->numbers.arena, a->sets, a->count, &a->room, sizeof *a->sets);
    a->sets[a->count] = copy;
    return (uint32_t)a->count++;
}

static uint32_t intern_list(struct access *a, const uint32_t *targets, uint32_t count)
{
    uint64_t *bits;

    if (!targets)
        return 0;
    bits = arena_array(a->numbers.arena, a->word_count, sizeof *bits);
    for (uint32_t i = 0; i < count; i++)
        bits[targets[i] / 64] |= 1ULL << (targets[i] % 64);
    return intern(a, bits);
}

static uint32_t both(struct access *a, uint32_t left, uint32_t right)
{
    struct memo_key key = {{left, right, 0, 0}};
    uint32_t *known, set;
    uint64_t *bits;
    bool fresh;

    if (left == 0 || left == right)
        return right;
    if (right == 0)
        return left;
    known = sched__memo_get(&a->pairs, key, &fresh);
    if (!fresh)
        return *known;
    bits = arena_array(a->numbers.arena, a->word_count, sizeof *bits);
    for (uint32_t w = 0; w < a->word_count; w++)
        bits[w] = a->sets[left][w] & a->sets[right][w];
    set = intern(a, bits);
    *known = set; /* intern looks into the other memo alone */
    return set;
}

void sched__access_init(struct access *a, const struct sched_snapshot *s, const struct tree *tree,
                        struct arena *arena)
{
    uint32_t *of_branch = arena_array(arena, tree->count, sizeof *of_branch);
    uint32_t *of_queue = arena_array(arena, s->queue_count, sizeof *of_queue);
    uint64_t *all;

    *a = (struct access){
        .word_count = s->target_count / 64 + 1, .of_branch = of_branch, .of_queue = of_queue};
    sched__memo_init(&a->numbers, arena);
    sched__memo_init(&a->pairs, arena);
    all = arena_array(arena, a->word_count, sizeof *all);
    for (uint32_t i = 0; i < s->target_count; i++)
        all[i / 64] |= 1ULL << (i % 64);
    (void)intern(a, all); /* it is number 0 */
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct branch *b = &tree->branches[i];
        uint32_t up = b->parent == SCHED_NONE ? 0 : of_branch[b->parent];
        of_branch[i] = both(a, up, intern_list(a, b->share->targets, b->share->target_count));
    }
    for (uint32_t i = 0; i < s->queue_count; i++)
        of_queue[i] = intern_list(a, s->queues[i].targets, s->queues[i].target_count);
}

uint32_t sched__access_get(struct access *a, uint32_t leaf, uint32_t queue)
{
    return both(a, a->of_branch[leaf], a->of_queue[queue]);
}
