/*
 * buffers.h: buffers of the program that are registered as symmetric memory.
 *
 * A buffer gets a block of the symmetric heap, and the pages of that block are also mapped at the
 * buffer's address: the same memory has two addresses. The block's address is the symmetric one,
 * with the same offset on every PE, so that no other part of the library has to handle buffers. An
 * address within the buffer is translated to the block's, as that of a global variable is.
 */
#ifndef SHMEMI_BUFFERS_H
#define SHMEMI_BUFFERS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* How many buffers a PE can have registered at a time. */
enum { SHMEMI_BUFFERS = 1024 };

/* The result of a search for the offset of an address that is not symmetric. No offset is so small.
 */
#define SHMEMI_NO_OFFSET INT64_MIN

/* Returns the offset from the user heap of n bytes of a buffer; SHMEMI_NO_OFFSET if no buffer
 * contains them. */
int64_t shmemi_buffer_offset(const void *addr, size_t n);

/* Reports whether the table of buffers is full. */
bool shmemi_buffers_full(void);
/* Reports whether any of the `length` bytes at start is in a registered buffer. */
bool shmemi_buffer_within(uintptr_t start, size_t length);

/* Reports whether the block at an offset belongs to a registered buffer, so that the program may
 * not free it. */
bool shmemi_buffer_block(int64_t offset);

/* Returns how many buffers are registered. */
uint32_t shmemi_buffers_count(void);
/* Returns the buffer at index i of the table, which is sorted by address. */
struct shmemi_static shmemi_buffer_at(uint32_t i);

/* Returns the index of the buffer whose block of the heap begins at an offset;
 * shmemi_buffers_count() if there is none. */
uint32_t shmemi_buffer_of_block(int64_t offset);

/* Adds a buffer to the table, which is not full. Only the thread that makes the collective call may
 * do so. */
void shmemi_buffer_add(struct shmemi_static e);
/* Removes the buffer at index i. Only the thread that makes the collective call may do so. */
void shmemi_buffer_drop(uint32_t i);

/* After fork, in the child, which has no symmetric memory: empties the table. */
void shmemi_buffers_forget(void);

#pragma GCC visibility pop

#endif
