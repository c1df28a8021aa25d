/*
 * host: the measuring program whose calls the CPU makes, in main memory.
 */
#include "host.h"

#include <string.h>

const struct figure *const perf_tables[] = {rma_figures, atomic_figures, signal_figures,
                                            collective_figures, NULL};

/* Before shmem_init: does nothing, as there is no GPU to select. */
void perf_start(void)
{
}

/* After shmem_init: allocates what the figures need. */
void perf_open(void)
{
    rma_open();
    atomics_open();
    signals_open();
    collectives_open();
}

/* Copies from symmetric memory, which is main memory here. */
void load(void *to, const void *symmetric, size_t size)
{
    memcpy(to, symmetric, size);
}

/* Copies to symmetric memory, which is main memory here. */
void store(void *symmetric, const void *from, size_t size)
{
    memcpy(symmetric, from, size);
}

/* Zeroes symmetric memory, which is main memory here. */
void clear(void *symmetric, size_t size)
{
    memset(symmetric, 0, size);
}
