#ifndef SHMEMI_WAIT_H
#define SHMEMI_WAIT_H

#include <stdint.h>

/* The arguments of a sleep, which ends when a ring has work, the network has, or total has passed.
 * */
struct shmemi_ring_sleep {
    uint64_t *const *words; /* where the rings' next operations begin */
    const uint64_t *laps;   /* what bit 63 of each will be */
    int count;
    int (*wait)(void *self, int64_t ns); /* the provider's; NULL: none, only sleep */
    void *self;
    int64_t step, total; /* ns */
};

/* Sleeps, and polls the rings every step. Returns 1 if there may be work, 0 if there is none after
 * total, or the negative error of wait. */
int shmemi_ring_sleep(const struct shmemi_ring_sleep *l);

#endif
