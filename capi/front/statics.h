/*
 * statics.h: the program's globals and statics as symmetric memory.
 *
 * Their pages are replaced by pages of the node's memory file, in this PE's part of it, below the
 * rest of its internal area (struct shmemi_static). So PEs of the node access them by loads and
 * stores, and other PEs by offset over the network, like the heap.
 */
#ifndef SHMEMI_STATICS_H
#define SHMEMI_STATICS_H

#include "program.h"

#pragma GCC visibility push(hidden)

/* Called before the core's init: sets the size and layout of the statics in the arguments of init,
 * because all PEs must have the same. */
void shmemi_statics_offer(struct shmemi_init_args *args);
/* Called after the core's init. If all PEs can have symmetric statics, moves this PE's to the
 * memory file and syncs with the other PEs; otherwise does nothing. Returns 0, or -1 and an error.
 */
int shmemi_statics_open(char *error, size_t size);
/* At finalize: empties the list of symmetric statics. The statics stay in the memory file. */
void shmemi_statics_close(void);

/* Finds the next bytes that were ever written between *from and *to of the memory file, and sets
 * *from and *to to them. Returns false if there are none. */
bool shmemi_statics_written(uint64_t *from, uint64_t *to);
/* Does what shmemi_statics_written does, for any file. */
bool shmemi_file_written(int fd, uint64_t *from, uint64_t *to);

/* Reports whether a page contains anything but zeros. */
bool shmemi_page_has_data(const char *page);

/* Copies whole pages, including the red zones of AddressSanitizer, which its memcpy rejects. */
void shmemi_copy_pages(void *to, const void *from, size_t n);

/* For fork.c: returns the part of the program that is in the memory file, and sets *place to its
 * offset there; NULL if there is none. */
const struct shmemi_program *shmemi_statics_moved(uint64_t *place);
/* Blocks init and finalize in other threads. */
void shmemi_statics_lock(void);
/* Ends what shmemi_statics_lock has begun. */
void shmemi_statics_unlock(void);
/* In the child of a fork: records that the statics are not symmetric any more. */
void shmemi_statics_forget(void);

#pragma GCC visibility pop

#endif
