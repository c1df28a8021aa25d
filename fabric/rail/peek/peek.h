/*
 * peek.h: several NICs for callers in C, which poll all of them and send small messages by one. All
 * completions but those of messages that fit a posted buffer are kept, unchanged, for Go
 * (fabric/rail).
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
    uint64_t ops, out, in; /* operations and bytes that C has moved, as in fabric.RailCount */
    uint32_t owed;         /* receive buffers that could not be posted, a bit for each */
    int fd;                /* readable when wait would end; negative: none */
    int error;             /* negative, that poll returned: SHMEMI_IN_GO or an error of libfabric,
                            * until Go has read it; else 0 */
    int count;             /* completions in kept, for Go */
    struct shmemi_completion kept[SHMEMI_PEEK_BATCH];
};

struct shmemi_peek {
    struct shmemi_peek_state s;
    uint32_t n;            /* NICs */
    uint32_t first_polled; /* the NIC that the next poll polls first */
    uint32_t streak;       /* how often in a row that NIC had a completion */
    uint32_t first;        /* token of a NIC's first receive buffer */
    uint32_t size;   /* of a receive buffer; 0: there are none, and Go handles all completions */
    uint32_t widest; /* entries that a PE has in the address vectors */
    uint32_t n_pes;  /* 0: Go posts all messages */
    uint8_t *rails;  /* by PE: how many NICs it has */
    struct shmemi_peek_nic *nics;
};

/* The functions of fabric.Native for all NICs together; self is a struct shmemi_peek. inject
 * returns -1 where Go has to find the error. */
int shmemi_peek_poll(void *self, struct shmemi_completion *c, int max);
int shmemi_peek_arm(void *self);
int shmemi_peek_wait(void *self, int64_t ns);
void shmemi_peek_wake(void *self);
int shmemi_peek_recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token);
int shmemi_peek_inject(void *self, uint32_t pe, const void *buf, size_t n);

#endif
