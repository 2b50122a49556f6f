/* A binary heap. */
#include "sim/heap.h"

#include "base/mem.h"

void sim_heap_release(struct sim_heap *heap)
{
    mem_free(heap->items);
    *heap = (struct sim_heap){0};
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

void sim_heap_put(struct sim_heap *heap, struct sim_event event)
{
    size_t at = heap->count++;

    if (heap->count > heap->room) {
        heap->room = heap->room ? heap->room * 2 : 256;
        heap->items = mem_grow(heap->items, heap->room * sizeof *heap->items);
    }
    event.order = heap->order++;
    while (at > 0 && before(&event, &heap->items[(at - 1) / 2])) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = event;
}

bool sim_heap_take(struct sim_heap *heap, struct sim_event *ret_event)
{
    struct sim_event last;
    size_t at = 0;

    if (heap->count == 0)
        return false;
    *ret_event = heap->items[0];
    last = heap->items[--heap->count];
    for (;;) {
        size_t child = at * 2 + 1;

        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!before(&heap->items[child], &last))
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    if (heap->count)
        heap->items[at] = last;
    return true;
}
