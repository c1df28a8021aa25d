/* buffer_register.h: registers buffers of the program as symmetric memory, and unregisters them. */
#ifndef SHMEMI_BUFFER_REGISTER_H
#define SHMEMI_BUFFER_REGISTER_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* These implement shmemx_buffer_register_symmetric and shmemx_buffer_unregister_symmetric. */
void *shmemi_buffer_register(void *buf_ptr, size_t length, int flags, const char *call);
int shmemi_buffer_unregister(void *mmap_ptr, size_t length, const char *call);

/* At finalize, when no PE writes to this one any more: replaces the heap's pages under each
 * registered buffer by private pages with the same contents. */
void shmemi_buffers_close(const char *call);

#pragma GCC visibility pop

#endif
