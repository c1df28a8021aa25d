/*
 * host: the measuring program whose calls the CPU makes, in main memory.
 */
#include "host.h"

#include <string.h>

const struct figure *const perf_tables[] = {rma_figures, atomic_figures, signal_figures,
                                            collective_figures, NULL};

void perf_start(void)
{
}

void perf_open(void)
{
    rma_open();
    atomics_open();
    signals_open();
    collectives_open();
}

void load(void *to, const void *symmetric, size_t size)
{
    memcpy(to, symmetric, size);
}

void store(void *symmetric, const void *from, size_t size)
{
    memcpy(symmetric, from, size);
}

void clear(void *symmetric, size_t size)
{
    memset(symmetric, 0, size);
}
