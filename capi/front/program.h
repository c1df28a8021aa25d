/*
 * program.h: which part of the program's data can be symmetric.
 */
#ifndef SHMEMI_PROGRAM_H
#define SHMEMI_PROGRAM_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Whole pages of the program's data that it may write to at any time (after RELRO). */
struct shmemi_span {
    uintptr_t start;
    size_t size;
    size_t filled; /* bytes from start on that come from the program's file */
    uint64_t at;   /* the span's offset in this PE's area for statics of the node's memory file */
};

/* The part of the program's data that is symmetric, or could be. */
struct shmemi_program {
    struct shmemi_span spans[SHMEMI_STATICS]; /* pages, which move as a whole */
    uint32_t n_spans;
    /* The symmetric data in the spans: addresses, and the offset from the start of the area. */
    struct shmemi_static ranges[SHMEMI_STATICS];
    uint32_t n_ranges;
    size_t size;        /* bytes of all spans */
    char like[320];     /* text that is the same on PEs that run the same program */
    bool alone;         /* the process had one thread */
    bool heap_inside;   /* the allocator's heap begins in the last page of a span */
    const char *cause;  /* why no global is symmetric, or NULL */
    const char *remedy; /* if there is a cause */
};

/* Finds which of the program's data can be symmetric. moved: an earlier init has moved the spans to
 * the memory file, so their mappings are not checked. */
void shmemi_program_find(struct shmemi_program *p, bool moved);
bool shmemi_program_contains(const void *addr); /* in the program's data, symmetric or not */
/* Reports whether the caller's stack is in a global: a thread cannot move its own stack. */
bool shmemi_program_on_spans(const struct shmemi_program *p);

#pragma GCC visibility pop

#endif
