/*
 * load.h: the operations that the producers of the benchmark push, and the sum of their fields.
 * Producers on the GPU and on the host, the consumer in C and the check of the sum all use this
 * header; the Go consumer adds the same fields of the operations that package queue decodes.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <shmem/ring.h>

enum bench_load {
    BENCH_P,     /* an operand in the slot, one operation at a time */
    BENCH_BURST, /* the same by bursts of BENCH_BURST_OPS */
    BENCH_PUT,   /* a put of 8 bytes that were written just before: fence, 2 slots */
    BENCH_LOADS,
};

#define BENCH_BURST_OPS 32

/* The interval at which a producer checks whether the run was given up. */
#define BENCH_LOOK 1024

/* Slots of an operation. */
SHMEMI_HD int bench_slots(int load)
{
    return load == BENCH_PUT ? SHMEMI_SLOTS_PUT : SHMEMI_SLOTS_P;
}

/* Operation number id of a run. Each field takes many values; source is the address of the 8 bytes
 * of a put. Puts want no reply (0, 0), and the width of a p is the logarithm of 4 bytes. */
SHMEMI_HD struct shmemi_words bench_words(int load, uint64_t id, uint64_t source)
{
    uint32_t pe = (uint32_t)id & 0xfffff;
    uint32_t context = (uint32_t)(id >> 4) & 0xfff;
    if (load == BENCH_PUT)
        return shmemi_pack_put(pe, context, id, source, 8, 0, 0);
    return shmemi_pack_p(pe, context, id, 2, (uint32_t)id * 2654435761u);
}

/* The sum of all fields of the operation whose words these are. */
SHMEMI_HD uint64_t bench_fields(const uint64_t *w)
{
    uint64_t op = shmemi_get_op(w);
    uint64_t sum = op + shmemi_get_pe(w) + shmemi_get_context(w) + shmemi_get_dest(w);
    switch (op) {
    case SHMEMI_OP_P:
        sum += shmemi_get_width(w) + (uint64_t)(int64_t)(int32_t)shmemi_get_value32(w);
        break;
    case SHMEMI_OP_PUT:
        sum += shmemi_get_local(w) + shmemi_get_length(w);
        break;
    default:
        break;
    }
    return sum;
}

/*
 * The address of the 8 bytes of a thread's i-th put. Each thread has 64 places of its own, which it
 * uses in turn.
 */
SHMEMI_HD uint64_t bench_source(uint64_t sources, uint64_t thread, uint64_t i)
{
    return sources + (thread * 64 + (i & 63)) * 8;
}

#endif
