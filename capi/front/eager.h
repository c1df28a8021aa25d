/* eager.h: eager transfers. A token is a message of fixed size that a PE writes to a slot of
 * another PE's memory, with signals within its bytes that show that it has arrived. */
#ifndef SHMEMI_EAGER_H
#define SHMEMI_EAGER_H

#include "eager_send.h"

#include <shmemx.h>

#pragma GCC visibility push(hidden)

/* These implement the shmemx_eager_ functions of the same names. */
int shmemi_eager_create(size_t nbytes, size_t count, int tile, shmemx_eager_t *eager,
                        const char *call);
void shmemi_eager_destroy(shmemx_eager_t *eager, const char *call);
size_t shmemi_eager_size(size_t nbytes, int tile, const char *call);
int shmemi_eager_tile(int pe, const char *call);
int shmemi_eager_ready(const shmemx_eager_t *eager, uint32_t slot, uint32_t epoch,
                       const char *call);
void shmemi_eager_wait(const shmemx_eager_t *eager, uint32_t slot, uint32_t epoch,
                       const char *call);
void shmemi_eager_recv(const shmemx_eager_t *eager, uint32_t slot, void *dest, uint32_t epoch,
                       const char *call);

#pragma GCC visibility pop

#endif
