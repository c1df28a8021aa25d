/*
 * pipeline.h: moves a model from layout A to layout B by put-with-signal.
 *
 * Why not one put for each shard, straight to its place? Because a put moves one run of bytes to
 * one run of bytes, and in a whole tensor the columns of different PEs alternate. So a chunk lands
 * in a slot, and the receiver copies its rows from there to their places while the next chunks are
 * in flight:
 *
 *   sender                               receiver
 *   shard --put with signal--> landing slot --copy--> tensor
 *     ^                                       |
 *     +---- credit: "the slot is free" <------+
 *
 * Each sender has `depth` slots of its own on each receiver and uses them in
 * turn, so that many chunks are in flight. Two words keep both ends in step:
 *
 *   arrived  on the receiver, one for each slot: the number (from 1) of the
 *            chunk that lies in it. Set by the put itself.
 *   credit   on the sender, one for each receiver: how many chunks that
 *            receiver has taken. Set by the receiver's atomic.
 */
#ifndef RESHARD_PIPELINE_H
#define RESHARD_PIPELINE_H

#include "layout.h"
#include "progress.h"
#include "symmetric.h"

#include <stddef.h>
#include <stdint.h>

struct pipeline {
    int me, n_pes;
    size_t chunk; /* bytes of a slot */
    size_t depth; /* slots for each sender */
    /* Symmetric: */
    unsigned char *landing; /* [n_pes][depth][chunk], by sender */
    uint64_t *arrived;      /* [n_pes][depth], by sender */
    uint64_t *credit;       /* [n_pes], by receiver */
    uint64_t *sent;         /* [n_pes] bytes this PE has put, by receiver */
};

/* Collective. When the heap is full it reports this in *heap; when there is no other memory either,
 * `sent` is NULL. */
void pipeline_init(struct pipeline *p, struct symmetric *heap, size_t chunk, size_t depth);
void pipeline_free(struct pipeline *p);

/* Moves everything. `shards` is this PE's memory in layout A: the shard of
 * tensor t begins at shard_at[t]. `block` is its memory in layout B. Runs once
 * for each pipeline, since the chunks are numbered from 1. On return this PE
 * has sent and received all that concerns it; others may still be at work. */
void pipeline_run(struct pipeline *p, const struct layout *l, const unsigned char *shards,
                  const size_t *shard_at, unsigned char *block, struct progress *progress);

#endif
