/* buffer_register.h: the program's buffers become symmetric memory, and are taken back. */
#ifndef SHMEMI_BUFFER_REGISTER_H
#define SHMEMI_BUFFER_REGISTER_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Behind shmemx.h. */
void *shmemi_buffer_register(void *buf_ptr, size_t length, int flags, const char *call);
int shmemi_buffer_unregister(void *mmap_ptr, size_t length, const char *call);

/* At finalize, when nobody writes to this PE any more: the program has its own pages
 * again, with what they hold. */
void shmemi_buffers_close(const char *call);

#pragma GCC visibility pop

#endif
