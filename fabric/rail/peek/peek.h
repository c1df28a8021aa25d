/*
 * peek.h: several NICs for callers in C: completions of any of them, and small messages that leave
 * by one. Anything but the common case is kept for Go, which knows its meaning (fabric/rail), and
 * is untouched till then.
 *
 * All but wait and wake are called with the endpoint's lock.
 */
#ifndef SHMEMI_PEEK_H
#define SHMEMI_PEEK_H

#include <stddef.h>
#include <stdint.h>

#include "zz_fabric.h"
#include "zz_peek.h"

enum { SHMEMI_PEEK_BATCH = 32 };

struct shmemi_peek_nic {
    void *self;
    int (*poll)(void *self, struct shmemi_completion *c, int max);
    int (*arm)(void *self);
    int (*wait)(void *self, int64_t ns);
    void (*wake)(void *self);
    int (*recv)(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token);
    int (*inject)(void *self, uint32_t pe, const void *buf, size_t n);
    uintptr_t desc;        /* of its receive buffers */
    char *buffers;         /* SHMEMI_PEEK_RECEIPTS of them */
    uint64_t ops, out, in; /* traffic of C, as fabric.RailCount */
    uint32_t owed;         /* receive buffers that found no room, a bit for each */
    int fd;                /* readable when wait would end; negative: none */
    int error;             /* of a poll, until Go has taken it */
    int count;             /* completions that Go has not taken */
    struct shmemi_completion came[SHMEMI_PEEK_BATCH];
};

struct shmemi_peek {
    struct shmemi_peek_state s;
    uint32_t n;
    uint32_t turn,
        streak;      /* the NIC that is polled first, and how often in a row it had a completion */
    uint32_t first;  /* token of a NIC's first receive buffer */
    uint32_t size;   /* of each; 0: there are none, and Go takes everything */
    uint32_t widest; /* numbers that a PE has in the address vectors */
    uint32_t n_pes;  /* 0: messages are posted by Go */
    uint8_t *rails;  /* by PE: its NICs */
    struct shmemi_peek_nic *nics;
};

/* The functions of fabric.Native. inject answers -1 where Go has to find out. */
int shmemi_peek_poll(void *self, struct shmemi_completion *c, int max);
int shmemi_peek_arm(void *self);
int shmemi_peek_wait(void *self, int64_t ns);
void shmemi_peek_wake(void *self);
int shmemi_peek_recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token);
int shmemi_peek_inject(void *self, uint32_t pe, const void *buf, size_t n);

#endif
