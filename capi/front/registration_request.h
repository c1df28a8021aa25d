/*
 * registration_request.h: a request to register or unregister a buffer of the program.
 */
#ifndef SHMEMI_REGISTRATION_REQUEST_H
#define SHMEMI_REGISTRATION_REQUEST_H

#include "base.h"

#pragma GCC visibility push(hidden)

#define PAGE ((size_t)SHMEMI_PAGE)

enum { WHY = 360 };

struct registration_request {
    uintptr_t start;
    size_t length;
    int64_t inside; /* offset of memory that is in the heap already, or -1 */
    /* For memory of a GPU: the unit of the driver's chunks, and the bytes of the chunks before the
     * first byte and from there on; with most_, the most of any PE, once they have agreed. */
    size_t granule, before, after;
    size_t most_before, most_after;
    char why[WHY]; /* "", or cause and remedy of its refusal */
};

#define REFUSE(w, ...) snprintf((w)->why, WHY, __VA_ARGS__)

/* Fills in inside, granule, before and after; or why, if the buffer cannot be registered. */
void shmemi_registration_check(struct registration_request *w, int flags);

#pragma GCC visibility pop

#endif
