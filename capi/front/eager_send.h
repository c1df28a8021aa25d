/* eager_send.h: tokens that threads of the host send. */
#ifndef SHMEMI_EAGER_SEND_H
#define SHMEMI_EAGER_SEND_H

#include "base.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* How many buffers for tokens that go over the network come after the slots; how many bytes these
 * buffers and those of kernels have; and a wait until no buffer's write is under way. */
int shmemi_eager_boxes(const shmemx_eager_t *e);
size_t shmemi_eager_boxes_size(const shmemx_eager_t *e);
void shmemi_eager_boxes_close(const shmemx_eager_t *e, const char *call);

/* n bytes of 0 in main memory, for a token that comes from or goes to the memory of a GPU; the
 * caller frees them. */
char *shmemi_eager_allocate(size_t n, const char *call);

/* Implements shmemx_eager_send. */
void shmemi_eager_send(const shmemx_eager_t *eager, uint32_t slot, const void *source,
                       uint32_t epoch, int pe, bool nbi, const char *call);

#pragma GCC visibility pop

#endif
