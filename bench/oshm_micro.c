/*
 * oshm_micro: one small OpenSHMEM program that measures the same figures on any OpenSHMEM
 * implementation. It uses only the public C API (OpenSHMEM 1.4; teams and put-with-signal where the
 * header says 1.5).
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 * See README.md beside this file.
 */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if SHMEM_MAJOR_VERSION > 1 || (SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION >= 5)
#define HAVE_15 1
#else
#define HAVE_15 0
#endif

#define BATCHES 11
#define NSYNC 64
#define MAXSZ ((size_t)8 << 20)
#define COLL_MAX ((size_t)1 << 20)

static int me, npes, peer;
static double budget_ns = 200e6; /* time spent on one figure */
static long errors;

static char *src, *dst;   /* MAXSZ each, symmetric */
static long *flag;        /* ping-pong word */
static long *counter;     /* AMO target */
static long *agreed;      /* iteration count, from PE 0 */
static double *report;    /* one figure a PE, read by PE 0 */
static long *csrc, *cdst; /* COLL_MAX each */
#if HAVE_15
static uint64_t *sig;
#else
static long *pwrk;
static long (*psync)[SHMEM_REDUCE_SYNC_SIZE > SHMEM_BCAST_SYNC_SIZE ? SHMEM_REDUCE_SYNC_SIZE
                                                                    : SHMEM_BCAST_SYNC_SIZE];
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void row(const char *metric, size_t size, double value, const char *unit)
{
    if (me == 0) {
        printf("%s\t%zu\t%.6g\t%s\n", metric, size, value, unit);
        fflush(stdout);
    }
}

static int cmp(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
    qsort(v, n, sizeof *v, cmp);
    return v[n / 2];
}

/* ---------------------------------------------------------------- memory */

/* The value behind a key in a file of /proc, in KiB; -1 without the file or the key. */
static double status_kib(const char *file, const char *key)
{
    char line[256];
    double v = -1;
    FILE *f = fopen(file, "r");
    if (!f)
        return -1;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) {
            v = atof(line + strlen(key));
            break;
        }
    fclose(f);
    return v;
}

/* The largest value of all PEs, which PE 0 prints. */
static double max_over_pes(double v)
{
    double m = v;
    *report = v;
    shmem_barrier_all();
    if (me == 0)
        for (int i = 1; i < npes; i++) {
            double x = shmem_double_g(report, i);
            if (x > m)
                m = x;
        }
    shmem_barrier_all();
    return m;
}

/* Prints how much memory the PE with the most has now; when is the end of the rows' names. */
static void memory_rows(const char *when)
{
    char name[64];
    const struct {
        const char *tag, *file, *key;
    } k[] = {
        {"rss", "/proc/self/status", "VmRSS:"},
        {"peak_rss", "/proc/self/status", "VmHWM:"},
        {"pss", "/proc/self/smaps_rollup", "Pss:"},
        {"anon", "/proc/self/status", "RssAnon:"},
        {"shmem_rss", "/proc/self/status", "RssShmem:"},
    };
    for (unsigned i = 0; i < sizeof k / sizeof *k; i++) {
        double v = max_over_pes(status_kib(k[i].file, k[i].key));
        snprintf(name, sizeof name, "mem_%s_%s", k[i].tag, when);
        row(name, 0, v / 1024, "MiB/PE");
    }
}

/* ------------------------------------------- one-sided: only PE 0 times */

/* Makes an operation of size bytes on peer iters times. */
typedef void (*op_fn)(long iters, size_t size);

/* Nanoseconds of an iteration: the median of BATCHES batches. Before them, 4 iterations warm up,
 * and batches grow until one takes half of its share of the budget. */
static double timed(op_fn op, size_t size)
{
    double t, v[BATCHES];
    long iters = 1;
    op(4, size);
    for (;;) {
        t = now();
        op(iters, size);
        t = now() - t;
        if (t >= budget_ns / BATCHES / 2 || iters > 1L << 30)
            break;
        iters = t < budget_ns / BATCHES / 16 ? iters * 4 : iters * 2;
    }
    for (int b = 0; b < BATCHES; b++) {
        t = now();
        op(iters, size);
        v[b] = (now() - t) / iters;
    }
    return median(v, BATCHES);
}

static void op_put_quiet(long n, size_t s)
{
    while (n--) {
        shmem_putmem(dst, src, s, peer);
        shmem_quiet();
    }
}
static void op_put_nbi_quiet(long n, size_t s)
{
    while (n--) {
        shmem_putmem_nbi(dst, src, s, peer);
        shmem_quiet();
    }
}
static void op_put_blocking(long n, size_t s)
{
    while (n--)
        shmem_putmem(dst, src, s, peer);
    shmem_quiet();
}
static void op_get(long n, size_t s)
{
    while (n--)
        shmem_getmem(dst, src, s, peer);
}
static void op_get_nbi_quiet(long n, size_t s)
{
    while (n--) {
        shmem_getmem_nbi(dst, src, s, peer);
        shmem_quiet();
    }
}
static void op_p(long n, size_t s)
{
    (void)s;
    while (n--)
        shmem_long_p((long *)dst, n, peer);
    shmem_quiet();
}
/* How many operations a quiet follows: 64, and less if these have more than 64 MiB. */
static long window_of(size_t s)
{
    long w = (long)(((size_t)64 << 20) / s);
    return w > 64 ? 64 : w;
}
static void op_put_window(long n, size_t s)
{
    long w = window_of(s);
    while (n--) {
        for (long i = 0; i < w; i++)
            shmem_putmem_nbi(dst, src, s, peer);
        shmem_quiet();
    }
}
static void op_get_window(long n, size_t s)
{
    long w = window_of(s);
    while (n--) {
        for (long i = 0; i < w; i++)
            shmem_getmem_nbi(dst, src, s, peer);
        shmem_quiet();
    }
}
/* 512 small puts to successive addresses in 64 KiB, and a quiet */
static void op_rate_nbi(long n, size_t s)
{
    const size_t span = (size_t)64 << 10;
    while (n--) {
        size_t off = 0;
        for (int i = 0; i < 512; i++) {
            shmem_putmem_nbi(dst + off, src + off, s, peer);
            off = (off + s) & (span - 1);
        }
        shmem_quiet();
    }
}
static void op_rate_put(long n, size_t s)
{
    const size_t span = (size_t)64 << 10;
    while (n--) {
        size_t off = 0;
        for (int i = 0; i < 512; i++) {
            shmem_putmem(dst + off, src + off, s, peer);
            off = (off + s) & (span - 1);
        }
        shmem_quiet();
    }
}
static long adds; /* what the peer's counter must be */
static void op_fadd(long n, size_t s)
{
    (void)s;
    adds += n;
    while (n--)
        (void)shmem_long_atomic_fetch_add(counter, 1, peer);
}
static void op_inc_quiet(long n, size_t s)
{
    (void)s;
    adds += n;
    while (n--) {
        shmem_long_atomic_inc(counter, peer);
        shmem_quiet();
    }
}
static void op_inc_window(long n, size_t s)
{
    (void)s;
    adds += n * 512;
    while (n--) {
        for (int i = 0; i < 512; i++)
            shmem_long_atomic_inc(counter, peer);
        shmem_quiet();
    }
}
/* The counter is never -1, so no swap changes it. */
static void op_cswap(long n, size_t s)
{
    (void)s;
    while (n--)
        (void)shmem_long_atomic_compare_swap(counter, -1, -2, peer);
}
/* The empty asm keeps the compiler from leaving out copies that the next one repeats. */
static void op_memcpy(long n, size_t s)
{
    while (n--) {
        memcpy(dst, src, s);
        __asm__ volatile("" ::: "memory");
    }
}

static void check_put(size_t s, const char *what)
{
    /* puts a new pattern and gets it back from the peer */
    for (size_t i = 0; i < s; i++)
        src[i] = (char)(i * 7 + s + 3);
    shmem_putmem_nbi(dst, src, s, peer);
    shmem_quiet();
    char *back = malloc(s);
    shmem_getmem(back, dst, s, peer);
    if (memcmp(back, src, s)) {
        fprintf(stderr, "oshm_micro: wrong data after %s of %zu bytes\n", what, s);
        errors++;
    }
    free(back);
}

/* Rows of PE 0's calls on peer. The other PEs wait in a barrier. */
static void p2p(void)
{
    static const size_t bw[] = {4096, 65536, (size_t)1 << 20, (size_t)8 << 20};
    *counter = 0;
    shmem_barrier_all();
    if (me == 0) {
        row("put_quiet_lat", 8, timed(op_put_quiet, 8) / 1e3, "us");
        row("put_nbi_quiet_lat", 8, timed(op_put_nbi_quiet, 8) / 1e3, "us");
        row("put_blocking_issue", 8, timed(op_put_blocking, 8) / 1e3, "us");
        row("get_lat", 8, timed(op_get, 8) / 1e3, "us");
        row("get_nbi_quiet_lat", 8, timed(op_get_nbi_quiet, 8) / 1e3, "us");
        check_put(8, "8-byte put");

        row("amo_fetch_add_lat", 8, timed(op_fadd, 8) / 1e3, "us");
        row("amo_inc_quiet_lat", 8, timed(op_inc_quiet, 8) / 1e3, "us");
        row("amo_inc_rate", 8, 512e3 / timed(op_inc_window, 8), "Mop/s");
        row("amo_cswap_lat", 8, timed(op_cswap, 8) / 1e3, "us");
        long c = shmem_long_g(counter, peer);
        if (c != adds) {
            fprintf(stderr, "oshm_micro: counter %ld, should be %ld\n", c, adds);
            errors++;
        }

        /* An iteration of op_rate_nbi, op_rate_put and op_inc_window has 512 operations. */
        row("put_nbi_rate", 8, 512e3 / timed(op_rate_nbi, 8), "Mop/s");
        row("put_nbi_rate", 64, 512e3 / timed(op_rate_nbi, 64), "Mop/s");
        row("put_blocking_rate", 8, 512e3 / timed(op_rate_put, 8), "Mop/s");
        row("p_rate", 8, 1e3 / timed(op_p, 8), "Mop/s");

        for (unsigned i = 0; i < sizeof bw / sizeof *bw; i++) {
            size_t s = bw[i], w = (size_t)window_of(s);
            row("put_nbi_bw", s, (double)s * w / timed(op_put_window, s), "GB/s");
            row("put_blocking_bw", s, (double)s / timed(op_put_blocking, s), "GB/s");
            row("get_nbi_bw", s, (double)s * w / timed(op_get_window, s), "GB/s");
            row("memcpy_bw", s, (double)s / timed(op_memcpy, s), "GB/s");
            check_put(s, "put");
        }
    }
    shmem_barrier_all();
}

/* ------------------------------- two-sided timing: everyone takes part */

static void do_pingpong(long n)
{
    static long seq;
    if (me == 0)
        while (n--) {
            shmem_long_p(flag, ++seq, peer);
            shmem_long_wait_until(flag, SHMEM_CMP_EQ, seq);
        }
    else if (me == peer)
        while (n--) {
            shmem_long_wait_until(flag, SHMEM_CMP_EQ, ++seq);
            shmem_long_p(flag, seq, 0);
        }
}

#if HAVE_15
static size_t sig_size;
static void do_signal_pingpong(long n)
{
    static uint64_t seq;
    if (me == 0)
        while (n--) {
            shmem_putmem_signal(dst, src, sig_size, sig, ++seq, SHMEM_SIGNAL_SET, peer);
            shmem_signal_wait_until(sig, SHMEM_CMP_EQ, seq);
        }
    else if (me == peer)
        while (n--) {
            shmem_signal_wait_until(sig, SHMEM_CMP_EQ, ++seq);
            shmem_putmem_signal(dst, src, sig_size, sig, seq, SHMEM_SIGNAL_SET, 0);
        }
}

/* Both PEs send at once, as in programs that exchange borders. */
static void do_exchange(long n)
{
    static uint64_t seq;
    if (me != 0 && me != peer)
        return;
    while (n--) {
        shmem_putmem_signal_nbi(dst, src, sig_size, sig + 1, ++seq, SHMEM_SIGNAL_SET,
                                me == 0 ? peer : 0);
        shmem_signal_wait_until(sig + 1, SHMEM_CMP_GE, seq);
        shmem_quiet();
    }
}
#endif

static void do_barrier_all(long n)
{
    while (n--)
        shmem_barrier_all();
}
static void do_sync_all(long n)
{
    while (n--)
        shmem_sync_all();
}

static size_t coll_n;    /* longs */
static double off_clock; /* time spent between collectives, not counted */

/* The root changes from call to call, so that each broadcast waits for the one before. In OpenSHMEM
 * 1.4 the active set is all PEs (PE_start 0, logPE_stride 0, PE_size npes), and before a pSync
 * array is used again all PEs must have left the call that had it. */
static void do_broadcast(long n)
{
    for (long i = 0; i < n; i++) {
        int root = (int)(i % npes);
#if HAVE_15
        shmem_long_broadcast(SHMEM_TEAM_WORLD, cdst, csrc, coll_n, root);
#else
        shmem_broadcast64(cdst, csrc, coll_n, root, 0, 0, npes, psync[i % NSYNC]);
        if (i % NSYNC == NSYNC - 1) {
            double t = now();
            shmem_barrier_all();
            off_clock += now() - t;
        }
#endif
    }
}
static void do_reduce(long n)
{
    for (long i = 0; i < n; i++) {
#if HAVE_15
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, cdst, csrc, coll_n);
#else
        shmem_long_sum_to_all(cdst, csrc, (int)coll_n, 0, 0, npes, pwrk, psync[i % NSYNC]);
        if (i % NSYNC == NSYNC - 1) {
            double t = now();
            shmem_barrier_all();
            off_clock += now() - t;
        }
#endif
    }
}

/* Like timed, for operations in which all PEs take part: nanoseconds by this PE's clock. PE 0
 * chooses the number of iterations of a batch. */
static double timed_all(void (*op)(long))
{
    double t, v[BATCHES];
    long iters = 4;
    shmem_barrier_all();
    op(4);
    shmem_barrier_all();
    for (;;) {
        t = now();
        op(iters);
        t = now() - t;
        shmem_barrier_all();
        if (me == 0) {
            long next = iters;
            if (t < budget_ns / BATCHES / 2 && iters < 1L << 28)
                next = t < budget_ns / BATCHES / 16 ? iters * 4 : iters * 2;
            for (int i = 0; i < npes; i++)
                shmem_long_p(agreed, next, i);
            shmem_quiet();
        }
        shmem_barrier_all();
        if (*agreed == iters)
            break;
        iters = *agreed;
        shmem_barrier_all();
    }
    for (int b = 0; b < BATCHES; b++) {
        shmem_barrier_all();
        off_clock = 0;
        t = now();
        op(iters);
        v[b] = (now() - t - off_clock) / iters;
    }
    shmem_barrier_all();
    return median(v, BATCHES);
}

/* Rows of collective calls, and a check of the last sum. */
static void coll(void)
{
    static const size_t sz[] = {8, 65536, COLL_MAX};
    row("barrier_all", 0, timed_all(do_barrier_all) / 1e3, "us");
    row("sync_all", 0, timed_all(do_sync_all) / 1e3, "us");
    for (unsigned k = 0; k < sizeof sz / sizeof *sz; k++) {
        coll_n = sz[k] / sizeof(long);
        for (size_t i = 0; i < coll_n; i++) {
            csrc[i] = (long)i + me;
            cdst[i] = -1;
        }
        row("broadcast", sz[k], timed_all(do_broadcast) / 1e3, "us");
        row("sum_reduce", sz[k], timed_all(do_reduce) / 1e3, "us");
        for (size_t i = 0; i < coll_n; i++)
            if (cdst[i] != (long)i * npes + (long)npes * (npes - 1) / 2) {
                fprintf(stderr, "oshm_micro: PE %d: wrong sum at %zu\n", me, i);
                errors++;
                break;
            }
        shmem_barrier_all();
    }
}

/* Rows of PE 0 and the last PE, which answer each other: half of the time of a round trip. */
static void pingpong(void)
{
    *flag = 0;
    shmem_barrier_all();
    if (npes < 2)
        return;
    row("p_pingpong_half", 8, timed_all(do_pingpong) / 2e3, "us");
#if HAVE_15
    static const size_t sz[] = {8, 4096, 65536};
    *sig = 0;
    for (unsigned i = 0; i < sizeof sz / sizeof *sz; i++) {
        sig_size = sz[i];
        row("put_signal_pingpong_half", sz[i], timed_all(do_signal_pingpong) / 2e3, "us");
    }
    sig[1] = 0;
    sig_size = (size_t)1 << 20;
    row("put_signal_exchange", sig_size, timed_all(do_exchange) / 1e3, "us");
#endif
}

/* Allocates n bytes of zeroed symmetric memory, or ends the job. The extra page shifts the next
 * block, so that equal offsets in two blocks do not fall into the same sets of the caches. */
static void *need(size_t n)
{
    void *p = shmem_align(4096, n + 4096);
    if (!p) {
        fprintf(stderr, "oshm_micro: the symmetric heap has no %zu bytes\n", n);
        shmem_global_exit(2);
    }
    memset(p, 0, n);
    return p;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    double t0 = now(), t1, t2; /* before init, after it, and before a later measurement */
    if (argc > 2)
        budget_ns = atof(argv[2]) * 1e6;

    shmem_init();
    t1 = now();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    peer = npes - 1;

    report = shmem_malloc(sizeof *report);
    if (!report)
        shmem_global_exit(2);
    row("npes", 0, npes, "PEs");
    row("init", 0, max_over_pes((t1 - t0) / 1e6), "ms");
    t2 = now();
    shmem_barrier_all();
    t2 = now() - t2;
    row("barrier_after_init", 0, t2 / 1e6, "ms");
    memory_rows("init");

    if (strcmp(what, "init")) {
        agreed = need(sizeof *agreed);
        flag = need(64);
        counter = need(64);
        src = need(MAXSZ);
        dst = need(MAXSZ);
        csrc = need(COLL_MAX);
        cdst = need(COLL_MAX);
#if HAVE_15
        sig = need(64);
#else
        {
            size_t w = COLL_MAX / sizeof(long) / 2 + 1;
            if (w < SHMEM_REDUCE_MIN_WRKDATA_SIZE)
                w = SHMEM_REDUCE_MIN_WRKDATA_SIZE;
            pwrk = need(w * sizeof(long));
            psync = need(NSYNC * sizeof *psync);
            for (int i = 0; i < NSYNC; i++)
                for (size_t j = 0; j < sizeof *psync / sizeof(long); j++)
                    psync[i][j] = SHMEM_SYNC_VALUE;
        }
#endif
        memset(src, 1, MAXSZ);
        shmem_barrier_all();
        row("shmem_ptr", 0, shmem_ptr(dst, peer) != NULL, "bool");
        if (!strcmp(what, "all") || !strcmp(what, "p2p"))
            p2p();
        if (!strcmp(what, "all") || !strcmp(what, "p2p") || !strcmp(what, "wait"))
            pingpong();
        if (!strcmp(what, "all") || !strcmp(what, "coll"))
            coll();
        memory_rows("end");
        row("errors", 0, max_over_pes((double)errors), "count");
    }
    shmem_barrier_all();
    t2 = now();
    shmem_finalize();
    if (me == 0) {
        printf("finalize\t0\t%.6g\tms\n", (now() - t2) / 1e6);
        fflush(stdout);
    }
    return errors ? 1 : 0;
}
