/*
 * peek.h: the completion queues of several NICs for a caller in C, who asks far more
 * often than something comes. What comes is kept for Go, which knows what it means.
 *
 * All but wait and wake are called with the endpoint's lock.
 */
#ifndef SHMEMI_PEEK_H
#define SHMEMI_PEEK_H

#include <stdint.h>

#include "state.h" /* struct shmemi_completion, SHMEMI_IN_GO */

enum { SHMEMI_PEEK_BATCH = 32 };

struct shmemi_peek_nic {
    void *self;
    int (*poll)(void *self, struct shmemi_completion *c, int max);
    int (*arm)(void *self);
    int (*wait)(void *self, int64_t ns);
    void (*wake)(void *self);
    int fd;    /* readable when wait would end; negative: none */
    int error; /* of a poll, until Go has taken it */
    int count; /* completions that Go has not taken */
    struct shmemi_completion came[SHMEMI_PEEK_BATCH];
};

struct shmemi_peek {
    uint32_t n;
    uint32_t work; /* 1: Go has something for its caller, whatever the queues say */
    struct shmemi_peek_nic *nics;
};

/* The functions of fabric.Native. poll answers 0 or SHMEMI_IN_GO. */
int shmemi_peek_poll(void *self, struct shmemi_completion *c, int max);
int shmemi_peek_arm(void *self);
int shmemi_peek_wait(void *self, int64_t ns);
void shmemi_peek_wake(void *self);

#endif
