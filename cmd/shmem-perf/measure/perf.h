/*
 * perf: the program that shmem-perf starts as PEs. It uses only the public C API (OpenSHMEM 1.4,
 * teams and signals if the header is of version 1.5, notifications and messages if the library is
 * libshmem), so that the same files build against any OpenSHMEM.
 *
 * This header has what the files share: the table of figures, and the state of a run.
 */
#ifndef PERF_H
#define PERF_H

#include <shmem.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if SHMEM_MAJOR_VERSION > 1 || (SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION >= 5)
#define HAVE_15 1
#else
#define HAVE_15 0
#endif

/* The PEs that make the calls of a figure; the others wait in a barrier. */
enum acting {
    ORIGIN, /* PE 0, whose target is the last PE */
    BOTH,   /* PE 0 and the last PE */
    HALVES, /* each PE of the first half, whose target is one of the second half */
    ALL     /* every PE, together: a collective */
};

/* The unit of a figure: us, GB/s, or millions of operations a second. print_figure (timing.c) has a
 * table of the units in this order. */
enum kind { LATENCY, BANDWIDTH, RATE };

/* A figure is one way to measure one operation. */
struct figure {
    const char *test, *measure;
    const char *until; /* the end of one operation: what a time includes */
    enum kind kind;
    enum acting acting;
    bool half;         /* an iteration is a round trip, and the value half of its time */
    bool each_way;     /* bytes of both directions are counted */
    bool unsized;      /* it has one size */
    const char *scope; /* who makes the calls; NULL is the host */
    bool together;     /* single operations are not timed */
    size_t unit; /* the one size, or the number of which all sizes are multiples; 0: any size */
    size_t most; /* the largest size; 0: any */
    long (*burst)(size_t);     /* operations of an iteration; NULL is 1 */
    void (*prepare)(size_t);   /* before the figure, on every PE */
    void (*run)(long, size_t); /* makes so many iterations at a size */
    bool (*check)(size_t); /* after the figure, on every PE: reports whether the data are right */
};

#ifdef __cplusplus
extern "C" {
#endif

/* The tables of figures of the program, which end with NULL (each table ends with a figure that has
 * no test), and what it does before and after shmem_init. */
extern const struct figure *const perf_tables[];
void perf_start(void);
void perf_open(void);
/* memcpy and memset for symmetric memory, which may be memory of a GPU. */
void load(void *to, const void *symmetric, size_t size);
void store(void *symmetric, const void *from, size_t size);
void clear(void *symmetric, size_t size);

/* The settings of a run, the same on every PE. */
extern struct settings {
    double budget_ns; /* for one figure */
    int batches;
    long iterations;   /* iterations of a batch; 0: as many as fit the budget */
    long warmup;       /* iterations before the first batch */
    long window;       /* operations between two quiets */
    const char *spoil; /* the figure whose data a test damages */
} settings;

extern int me, npes, peer; /* peer: the last PE on PE 0, else PE 0 */
extern int partner;        /* the PE of the other half with which this one forms a pair */
extern int toward;         /* the target PE of the calls of the present figure */
extern char *src, *dst;    /* symmetric, `room` bytes each */
extern size_t room;

double now(void);                                 /* nanoseconds */
void fill(char *at, size_t size, int pe);         /* writes the pattern of a PE */
bool filled(const char *at, size_t size, int pe); /* reports whether memory has it */
bool acts(enum acting acting);                    /* reports whether this PE makes the calls */
void *symmetric(size_t size);                     /* allocates zeroed memory, or ends the job */
/* Copies from symmetric memory of another PE. */
void load_from(void *to, const void *symmetric, size_t size, int pe);

void timing_open(void);
/* Measures a figure, and prints it on PE 0. Every PE calls it. */
void timing_measure(const struct figure *f, size_t size);
extern long wrong_figures; /* figures with wrong data, counted on PE 0 */
extern double apart;       /* nanoseconds of a batch that were not spent in its calls */

void beside_open(void);
void beside_measure(const char *word, const char *nic);

#ifdef __cplusplus
}
#endif

#endif
