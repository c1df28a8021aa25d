#ifndef SHMEMI_WAIT_H
#define SHMEMI_WAIT_H

#include <stdint.h>

/* The arguments of a sleep, which ends when a ring has work, the network has, or total has
 * passed. */
struct shmemi_ring_sleep {
    uint64_t *const *words; /* the first words of the rings' next operations */
    const uint64_t *laps;   /* the value of bit 63 of each word when the operation is there */
    int count;
    int (*wait)(void *self, int64_t ns); /* the provider's wait function; NULL: only sleep */
    void *self;
    int64_t step, total; /* ns */
};

/* Sleeps, and polls the rings every l->step ns. Returns 1 if there may be work, 0 if there is none
 * after l->total ns, or the negative error of wait. */
int shmemi_ring_sleep(const struct shmemi_ring_sleep *l);

#endif
