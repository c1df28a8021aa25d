/*
 * express.h: small messages without a crossing into Go.
 *
 * The structs are proxy.Express and its peers, in memory that both halves
 * work on under the endpoint's lock; runtime/proxy/express_unsafe.go says what
 * the fields mean. What these functions do not serve they leave untouched, and
 * Go does the whole of it.
 */
#ifndef SHMEMI_EXPRESS_H
#define SHMEMI_EXPRESS_H

#include "state.h"

#include <stdbool.h>

struct shmemi_express_peer {
    uint64_t base, key;
    uint64_t asked, acked, epoch, asked_then;
    uint64_t write_epoch;
    uint64_t wrote, wrote_acked, goal, goal_wrote;
    uint64_t bytes;
    uint32_t tokens, writes;
    uint32_t sent, received, parked, early;
    bool reachable, dirty, flushing, unmet, late;
};

struct shmemi_express {
    struct shmemi_express_peer *peers;
    char *buffers;
    char *scratch;
    char *segment;
    uint64_t internal, size;
    uintptr_t desc;
    uint64_t epoch;
    uint64_t quieted;
    uint64_t messages, message_size;
    uint32_t me, n_pes;
    uint32_t max_inject, receives, max_message, unordered;
    uint32_t stuck, failures;
    uint32_t calm, window;
};

/* The C functions behind the provider, as fabric.Native. */
struct shmemi_native {
    void *self;
    int (*poll)(void *self, struct shmemi_completion *c, int max);
    int (*recv)(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token);
    int (*inject)(void *self, uint32_t pe, const void *buf, size_t n);
};

/* What an express function answers when Go has to do it. */
#define SHMEMI_NOT_EXPRESS 3

int shmemi_express_put(struct shmemi_express *x, const struct shmemi_native *n, uint32_t pe,
                       int64_t offset, const void *source, size_t size);
int shmemi_express_amo(struct shmemi_express *x, const struct shmemi_native *n, uint32_t pe,
                       int64_t offset, int op, int width, uint64_t operand);
int shmemi_express_put_signal(struct shmemi_express *x, const struct shmemi_native *n, uint32_t pe,
                              int64_t offset, const void *source, size_t size,
                              int64_t signal_offset, uint64_t signal, int op);

/* Applies the message that c announces and posts its buffer again. */
int shmemi_express_receive(struct shmemi_express *x, const struct shmemi_native *n,
                           const struct shmemi_completion *c);

#endif
