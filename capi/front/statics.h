/*
 * statics.h: the program's globals and statics as symmetric memory.
 *
 * Their pages are replaced by pages of the node's memory file, in this PE's slice,
 * below the rest of its internal area (struct shmemi_static). So they are reached by
 * loads and stores on the node and by offset over the network, as the heap is.
 */
#ifndef SHMEMI_STATICS_H
#define SHMEMI_STATICS_H

#include "program.h"

#pragma GCC visibility push(hidden)

/* Before the core's init: the facts that PEs have to agree about. */
void shmemi_statics_offer(struct shmemi_init_args *args);
/* After it: makes the statics symmetric, if all PEs can. 0, or -1 and error. */
int shmemi_statics_open(char *error, size_t size);
void shmemi_statics_close(void);

/* The next bytes from `from` to `to` of the memory file that have been written, in *from and *to.
 * False: there are none. The second does the same for any file. */
bool shmemi_statics_written(uint64_t *from, uint64_t *to);
bool shmemi_file_written(int file, uint64_t *from, uint64_t *to);

/* Reports whether a page holds anything but zeros. */
bool shmemi_page_holds(const char *page);

/* Copies whole pages, red zones of AddressSanitizer included. */
void shmemi_copy_pages(void *to, const void *from, size_t n);

/* For fork.c: the spans that are in the memory file; NULL when none is. */
const struct shmemi_program *shmemi_statics_moved(uint64_t *place);
/* Keep init and finalize from running, and let them run. */
void shmemi_statics_lock(void);
void shmemi_statics_unlock(void);
/* In the child of a fork: its statics are its own from now on. */
void shmemi_statics_forget(void);

#pragma GCC visibility pop

#endif
