/*
 * wish.h: a buffer of the program's that is to be registered, or unregistered.
 */
#ifndef SHMEMI_WISH_H
#define SHMEMI_WISH_H

#include "base.h"

#pragma GCC visibility push(hidden)

#define PAGE ((size_t)SHMEMI_PAGE)

enum { WHY = 360 };

struct wish {
    uintptr_t start;
    size_t length;
    int64_t inside; /* offset of memory that is in the heap already, or -1 */
    /* Of a GPU's: the unit of the driver's chunks, and what of those lies before the first
     * byte and from there on; with most_, the most of any PE, once they have agreed. */
    size_t granule, before, after;
    size_t most_before, most_after;
    char why[WHY]; /* "", or the cause and the remedy of its refusal */
};

#define REFUSE(w, ...) snprintf((w)->why, WHY, __VA_ARGS__)

/* Fills in all but what is start, length and the most of the others, or why. */
void shmemi_wish_check(struct wish *w, int flags);

#pragma GCC visibility pop

#endif
