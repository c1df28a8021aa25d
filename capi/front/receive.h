/*
 * receive.h: the receivers of two-sided messages.
 */
#ifndef SHMEMI_RECEIVE_H
#define SHMEMI_RECEIVE_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Implement shmemx_recv and shmemx_recv_test. *tag and *pe say which tag and sender are accepted,
 * and become those of the message; NULL: any. shmemi_recv returns 0, or -1 if it has failed;
 * shmemi_recv_test 1 for a message, 0 for none, -1 if it has failed. */
int shmemi_recv(void *buf, size_t capacity, int *tag, int *pe, size_t *nbytes, const char *call);
int shmemi_recv_test(void *buf, size_t capacity, int *tag, int *pe, size_t *nbytes,
                     const char *call);

/* Called at init: allocates the state of the receivers. Returns false if there is no memory. */
bool shmemi_receive_open(void);
/* Called at finalize: frees the state of the receivers. */
void shmemi_receive_close(void);

#pragma GCC visibility pop

#endif
