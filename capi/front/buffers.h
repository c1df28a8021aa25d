/*
 * buffers.h: memory of the program's that becomes symmetric where it is.
 *
 * A buffer gets a block of the symmetric heap, and the pages of that block are mapped
 * over the buffer's as well: two addresses, one memory. The block's is the symmetric
 * address, the same offset on every PE, so that nothing else of the library knows of
 * buffers; the buffer's own is translated where a global's is, after the heap has been
 * asked.
 */
#ifndef SHMEMI_BUFFERS_H
#define SHMEMI_BUFFERS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* How many a PE can have at a time. */
enum { SHMEMI_BUFFERS = 1024 };

#define SHMEMI_NO_OFFSET INT64_MIN

/* The offset from the user heap of n bytes of a buffer; SHMEMI_NO_OFFSET where they are in
 * none. */
int64_t shmemi_buffer_offset(const void *addr, size_t n);

/* Whether there is room for no more, and whether one of them has some of these bytes. */
bool shmemi_buffers_full(void);
bool shmemi_buffer_within(uintptr_t start, size_t length);

/* Is the block at that offset a buffer's? Then it is not the heap's to free. */
bool shmemi_buffer_block(int64_t offset);

/* How many there are, and the one at a place below that. */
uint32_t shmemi_buffers_count(void);
struct shmemi_static shmemi_buffer_at(uint32_t i);

/* The place of the buffer that has the block at an offset; shmemi_buffers_count(): none has. */
uint32_t shmemi_buffer_of_block(int64_t offset);

/* Change the table: the one thread that is in the collective call. */
void shmemi_buffer_add(struct shmemi_static e);
void shmemi_buffer_drop(uint32_t i);

/* This is a child of fork: it has no symmetric memory. */
void shmemi_buffers_forget(void);

#pragma GCC visibility pop

#endif
