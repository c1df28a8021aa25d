/*
 * routes.h: the routes of the bytes between PEs, and their number.
 *
 * For a PE whose memory this one can load from and store to, shmem_ptr gives its address here; for
 * any other it gives NULL. The library makes the same distinction at each put.
 */
#ifndef RESHARD_ROUTES_H
#define RESHARD_ROUTES_H

#include "pipeline.h"
#include "symmetric.h"

#include <stdbool.h>
#include <stdint.h>

/* The bytes that each PE has put to each other one. A row has [2][n_pes] numbers of one sender: by
 * load and store, and over the network. Each PE knows only its own row. */
struct route_table {
    uint64_t *mine; /* this PE's row */
    uint64_t *all;  /* [n_pes] rows, by sender */
};

/* Sums over all pairs of PEs: bytes, and how many pairs had any. */
struct routes {
    uint64_t load_store, load_store_pairs;
    uint64_t network, network_pairs;
};

/* Collective. */
void routes_init(struct route_table *t, struct symmetric *heap);
void routes_free(struct route_table *t);

/* Collective: the sums over all pairs of PEs, on each PE. With `print`, PE 0
 * prints a line for each pair. */
struct routes routes_collect(struct route_table *t, const struct pipeline *p, bool print);

#endif
