/*
 * native.h: the endpoint for callers in C, by the functions whose addresses fabric.Native has.
 * Their argument self is its field Self, the struct shmemi_ofi of the endpoint.
 *
 * The holder of the endpoint's lock calls poll and arm; wait and wake need no lock.
 */
#ifndef SHMEMI_OFI_NATIVE_H
#define SHMEMI_OFI_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include "zz_fabric.h"

/*
 * Makes progress and fills c with up to max completions. Returns their number,
 * or a negative error of libfabric when the queue cannot be read.
 */
int shmemi_ofi_poll(void *self, struct shmemi_completion *c, int max);

/* Returns 1 when the caller may wait, 0 when poll has work now: completions, or bytes of
 * one-sided operations of peers, which poll moves without a completion. */
int shmemi_ofi_arm(void *self);

/*
 * Sleeps until poll may have work, wake is called or ns nanoseconds have passed. Follows an arm
 * that returned 1, after a poll that returned 0. Returns 1 if something has arrived, 0 if not, or a
 * negative error.
 */
int shmemi_ofi_wait(void *self, int64_t ns);

/* Posts a receive buffer. It is called under the endpoint's lock, like poll. Returns 0, or a
 * negative error if nothing was posted. */
int shmemi_ofi_native_recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token);
/* Posts a message whose bytes are copied at once. It is called under the endpoint's lock. Returns
 * 0, or a negative error if nothing was posted. */
int shmemi_ofi_native_inject(void *self, uint32_t pe, const void *buf, size_t n);

/* Ends a wait, or the next one when none is under way. */
void shmemi_ofi_wake(void *self);

#endif
