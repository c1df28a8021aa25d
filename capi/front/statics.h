/*
 * statics.h: the program's globals and statics as symmetric memory.
 *
 * Their pages are replaced by pages of the node's memory file, in this PE's slice,
 * below the rest of its internal area (struct shmemi_static). So they are reached by
 * loads and stores on the node and by offset over the network, as the heap is.
 */
#ifndef SHMEMI_STATICS_H
#define SHMEMI_STATICS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Whole pages of the program's data that nothing protects. */
struct shmemi_span {
    uintptr_t start;
    size_t size;
    size_t filled; /* bytes from start on that come from the program's file */
    uint64_t at;   /* in the area of the memory file */
};

/* What of the program's data is symmetric, or could be. */
struct shmemi_program {
    struct shmemi_span spans[SHMEMI_STATICS];
    uint32_t n_spans;
    struct shmemi_static ranges[SHMEMI_STATICS]; /* by offset from the start of the area */
    uint32_t n_ranges;
    size_t size;       /* of all spans */
    char like[320];    /* the same on PEs that run the same program */
    bool alone;        /* the process had one thread */
    bool heap_inside;  /* the allocator's heap begins in the last page of a span */
    const char *cause; /* NULL, or why none is symmetric */
    const char *remedy;
};

/* program.c. moved: the spans are as found before, and in the memory file by now. */
void shmemi_program_find(struct shmemi_program *p, bool moved);
bool shmemi_program_holds(const void *addr); /* in its data, symmetric or not */
/* Is the caller's stack in a global? Whoever runs there cannot move it. */
bool shmemi_program_on_spans(const struct shmemi_program *p);

/* statics.c. Before the core's init: what the PEs are to agree about. */
void shmemi_statics_offer(struct shmemi_init_args *args);
/* After it: makes them symmetric where all PEs do. 0, or -1 and error. */
int shmemi_statics_open(char *error, size_t size);
void shmemi_statics_close(void);

/* address.c. The offset from the user heap of n bytes of symmetric memory outside of it:
 * of the program's statics, or of a buffer that is registered; SHMEMI_NO_OFFSET where they
 * are in none. */
#define SHMEMI_NO_OFFSET INT64_MIN
int64_t shmemi_outside_offset(const void *addr, size_t n);

/* Ends the program when addr is in a global of it, and says why that is not symmetric, or in
 * a buffer that is registered, and the range is not; else it returns. */
void shmemi_refuse_static(const void *addr, size_t n, const char *call);

/* The next bytes from `from` to `to` of the memory file that have been written, in
 * *from and *to. False: there are none. */
bool shmemi_statics_written(uint64_t *from, uint64_t *to);
bool shmemi_file_written(int file, uint64_t *from, uint64_t *to); /* the same of any */

/* Is there anything but zeros in a page? */
bool shmemi_page_holds(const char *page);

/* Copies whole pages, red zones of AddressSanitizer included. */
void shmemi_copy_pages(void *to, const void *from, size_t n);

/* What fork.c needs: the spans that are in the memory file; NULL when none is. */
const struct shmemi_program *shmemi_statics_moved(uint64_t *place);
/* Keeps init and finalize away, or lets them. */
void shmemi_statics_lock(void);
void shmemi_statics_unlock(void);
/* This is a child: its statics are its own from now on. */
void shmemi_statics_forget(void);

#pragma GCC visibility pop

#endif
