/*
 * registration_request.h: a request to register or unregister a buffer of the program.
 */
#ifndef SHMEMI_REGISTRATION_REQUEST_H
#define SHMEMI_REGISTRATION_REQUEST_H

#include "base.h"

#pragma GCC visibility push(hidden)

#define PAGE ((size_t)SHMEMI_PAGE)

enum { WHY = 360 }; /* bytes of the text of a refusal */

/* A request of this PE, in a collective call. */
struct registration_request {
    uintptr_t start; /* the buffer's address */
    size_t length;   /* its bytes */
    int64_t inside;  /* offset of memory that is in the heap already, or -1 */
    /* For memory of a GPU, which the driver allocates in chunks: their unit, and the bytes of the
     * chunks before the first byte of the buffer and from there on; 0 for main memory. max_: the
     * largest value of any PE, set when the PEs have agreed. */
    size_t granule, before, after;
    size_t max_before, max_after;
    char why[WHY]; /* "", or why it is refused, and the remedy */
};

/* Refuses a request: records the cause and the remedy. */
#define REFUSE(request, ...) snprintf((request)->why, WHY, __VA_ARGS__)

/* Fills in inside, granule, before and after; or why, if the buffer cannot be registered. flags: as
 * the program has passed them. If it sets granule, gpu_lend or gpu_forget of the core has to
 * follow.
 */
void shmemi_registration_check(struct registration_request *request, int flags);

#pragma GCC visibility pop

#endif
