/* eager_send.h: tokens that threads of the host send. A token is the data of one eager transfer, of
 * fixed size, and goes to a slot of a PE's memory. */
#ifndef SHMEMI_EAGER_SEND_H
#define SHMEMI_EAGER_SEND_H

#include "base.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* Returns how many buffers for tokens that the host sends over a network come after the slots. */
int shmemi_eager_boxes(const shmemx_eager_t *e);
/* Returns the bytes of all buffers after the slots: those of the host and those of kernels. */
size_t shmemi_eager_boxes_size(const shmemx_eager_t *e);
/* Waits until no write from a buffer of the host is under way. */
void shmemi_eager_boxes_close(const shmemx_eager_t *e, const char *call);

/* Returns n bytes of 0 in main memory, for a token that comes from or goes to the memory of a GPU.
 * The caller frees them. */
char *shmemi_eager_allocate(size_t n, const char *call);

/* Implements shmemx_eager_send, and with nbi its nonblocking form. */
void shmemi_eager_send(const shmemx_eager_t *eager, uint32_t slot, const void *source,
                       uint32_t epoch, int pe, bool nbi, const char *call);

#pragma GCC visibility pop

#endif
