/*
 * consume.h: the consumer in C with which the one in Go is compared, and the data of both: requests
 * to a provider that transfers nothing, and the results of a run.
 */
#ifndef BENCH_CONSUME_H
#define BENCH_CONSUME_H

#include <shmem/ring.h>

#include "null.h"
#include "producer.h"

/* The request to a provider for one operation. */
struct bench_request {
    uint64_t dest, local, length, value;
    uint32_t pe;
    uint16_t context;
    uint8_t op, width;
};

#define BENCH_BATCH 64 /* operations taken of one ring before the next ring is checked */

/* A histogram of delays in ns, with 64 steps for each power of two. */
#define BENCH_STEPS 2560
struct bench_delays {
    uint32_t steps[BENCH_STEPS];
    uint64_t count, sum, max, early; /* early: posted before they were due, by the clocks */
};
void bench_delay(struct bench_delays *delays, int64_t ns);

/*
 * A provider that writes each request into a queue of 64-byte entries and then a doorbell, as the
 * driver of a NIC does, and completes nothing. Under steady load it also measures the delay of each
 * request: done here, the reading of the clock costs all consumers the same.
 */
struct bench_null {
    struct null null; /* must be first: fastpathtest's functions take this struct for a null */
    uint64_t entries[256][8];
    uint64_t posted;   /* number of requests */
    uint64_t doorbell; /* posted, as of the last batch */

    int paced;      /* measure delays */
    uint64_t start; /* of the schedule, CLOCK_MONOTONIC in ns */
    double rate;    /* host ns for a ns of the producers' clock */
    uint64_t skip;  /* operations due earlier than this after start do not count */
    struct bench_delays delays;
};

/* Takes a batch, with one doorbell. */
void bench_post(struct bench_null *provider, const struct bench_request *requests, int count);

/* Takes a message of the product's engine, as fabric.Native.Inject does. */
int bench_inject(void *provider, uint32_t pe, const void *message, size_t n);

/* Waits until count operations are posted, or until none has been posted for ns nanoseconds.
 * Returns the number posted. */
uint64_t bench_await(const struct bench_null *provider, uint64_t count, uint64_t ns);

/* A ring as its consumer sees it. */
struct bench_view {
    uint64_t *slots;
    struct shmemi_ring_progress *line; /* the tail, and done */
    struct shmemi_reply *replies;
    uint64_t position; /* of the next operation */
    uint32_t log2_slots, log2_replies;
};

/* One run: the request, then the results. */
struct bench_run {
    uint64_t operations; /* to be consumed */
    uint64_t limit_ns;   /* without an operation, after which the run is given up */
    int paced;           /* steady load: post the operations, to measure their delays */
    int yields;          /* the machine has few cores: yield while nothing arrives */

    /* Operations that were taken, the sum of their fields, those of an unknown code, and how many
     * batches there were. */
    uint64_t consumed, sum, unknown, batches;
    uint64_t first_ns, last_ns; /* when the first batch was there, and when the run ended */
    int gave_up;                /* no operation came for limit_ns */
};

uint64_t bench_now(void); /* CLOCK_MONOTONIC in ns */
int bench_pin(int core);
int bench_yield(void);
void bench_consume(struct bench_view *rings, int count, struct bench_run *run,
                   struct bench_null *provider);

/* The sum of the fields of all operations of a run with so many producer threads, each of which
 * pushes `each` operations. load: which operations (enum bench_load of load.h). sources: the
 * address of the producers' operands (struct bench_target), from which puts have their field local.
 */
uint64_t bench_expected(int load, uint64_t threads, uint64_t each, uint64_t sources);

/* Calls through the table of producers, whose function pointers Go cannot call. */
const struct bench_producer *bench_load_gpu(const char *path, char *why, int size);
int bench_open(const struct bench_producer *p, int device);
const char *bench_error(const struct bench_producer *p);
int bench_push(const struct bench_producer *p, int load, uint32_t blocks, uint32_t threads,
               uint64_t each, const struct bench_target *target);
int bench_ack(const struct bench_producer *p, int kind, uint32_t count,
              const struct bench_target *target, uint64_t *samples);
int bench_paced(const struct bench_producer *p, uint64_t start, uint64_t period_ps, uint64_t count,
                const struct bench_target *target);
int bench_clock_of(const struct bench_producer *p, struct bench_clock *clock);
int bench_wait(const struct bench_producer *p);

#endif
