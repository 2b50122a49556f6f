/* Intrusive doubly linked list. The list owns nothing. Not for sharing between threads. */
#pragma once

#include "base/macros.h"

struct list {
    struct list *next, *prev;
};

static inline void list_init(struct list *list)
{
    list->next = list->prev = list;
}
static inline bool list_empty(const struct list *list)
{
    return list->next == list;
}
static inline void list_add_tail(struct list *list, struct list *item)
{
    item->prev = list->prev;
    item->next = list;
    list->prev->next = item;
    list->prev = item;
}
static inline void list_remove(struct list *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    item->next = item->prev = item;
}
#define LIST_FOR_EACH(at, head) for (struct list *at = (head)->next; at != (head); at = at->next)
#define LIST_FOR_EACH_SAFE(at, tmp, head)                                                          \
    for (struct list *at = (head)->next, *tmp = at->next; at != (head); at = tmp, tmp = at->next)
