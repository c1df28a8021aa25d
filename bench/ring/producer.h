/*
 * producer.h: the producers of the benchmark, threads of the host (host.c) or of a GPU
 * (bench/gpu/kernels.cu, in a separate library, so that the benchmark builds and runs without
 * CUDA).
 */
#ifndef BENCH_PRODUCER_H
#define BENCH_PRODUCER_H

#include <shmem/ring.h>

/* The rings of a run, and the memory of its operands, by addresses of the producers. */
struct bench_target {
    const struct shmemi_ring *rings; /* block b uses ring b modulo count */
    uint32_t count;
    uint64_t sources; /* memory for operands: 512 bytes a thread */
};

/* The event that shows that a push has been consumed. */
enum bench_ack {
    BENCH_ACK_TAIL,  /* the tail passes its position */
    BENCH_ACK_QUIET, /* a quiet after it returns */
    BENCH_ACK_FETCH, /* a fetching operation is answered */
    BENCH_ACK_BARE,  /* the tail, by a loop that reads nothing else */
    BENCH_ACKS,
};

/* A comparison of the producers' clock with CLOCK_MONOTONIC, in ns: own is a time of the former,
 * and was read within window ns around the time host of the latter. A window of 0: both are the
 * same clock. */
struct bench_clock {
    uint64_t host, own;
    uint64_t window;
};

/*
 * Each function but error returns 0, or -1, and then error says why. push, ack and paced start
 * producers and return at once; wait waits until they have ended. One run at a time.
 */
struct bench_producer {
    int (*open)(int device);
    const char *(*error)(void);
    int (*push)(int load, uint32_t blocks, uint32_t threads, uint64_t each,
                const struct bench_target *target);
    /*
     * One thread pushes count operations into ring 0, and waits for each (enum bench_ack). samples
     * gets count times in ticks of the producer's counter; then how many ticks and how many ns
     * passed in all.
     */
    int (*ack)(int kind, uint32_t count, const struct bench_target *target, uint64_t *samples);
    /*
     * Steady load, whatever the consumer does: operation i of count is due at start + i * period_ps
     * / 1000 of the producers' clock. A thread pushes it as soon as it sees that time; its dest is
     * the time at which it was due, counted from start.
     */
    int (*paced)(uint64_t start, uint64_t period_ps, uint64_t count,
                 const struct bench_target *target);
    int (*clock)(struct bench_clock *clock);
    int (*wait)(void);
};

/* The first is in host.c, the second is what the GPU's library exports. */
const struct bench_producer *bench_host(void);
const struct bench_producer *bench_gpu(void);

#endif
