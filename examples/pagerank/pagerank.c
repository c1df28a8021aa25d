/*
 * pagerank: to which meanings do other words lead? PageRank on the graph of WordNet, whose nodes
 * are divided among the PEs.
 *
 *   shmemrun -n 4 ./pagerank [iterations [folder of WordNet]]
 *
 * By default 50, and /usr/share/wordnet or the value of WNSEARCHDIR. In each iteration a node
 * passes 85 % of its rank on to its targets in equal parts. The parts from one PE to another are
 * first added up for each target, and then sent by one put with signal: the sums are in an order on
 * which both PEs have agreed at the start. PE 0 also computes all ranks alone and compares.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "graph.h"

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double damping = 0.85, tolerance = 1e-12;

static int me, n;
static struct graph *g;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "pagerank: PE %d: %s\n", me, what);
    shmem_global_exit(EXIT_FAILURE);
}

static void *symmetric(size_t count, size_t size)
{
    void *p = shmem_calloc(count ? count : 1, size);
    if (p == NULL)
        fail("allocate symmetric memory: the heap is full (raise SHMEM_SYMMETRIC_SIZE)");
    return p;
}

static void *private(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (p == NULL)
        fail("allocate memory: there is no more (use fewer PEs)");
    return p;
}

/* The first node of a PE. */
static size_t first_of(int pe)
{
    return g->nodes * (size_t)pe / (size_t)n;
}

/* The number of edges that begin at a node. */
static size_t degree(size_t node)
{
    return g->first[node + 1] - g->first[node];
}

/* The data between this PE and the others. */
static struct {
    size_t begin, end; /* of this PE's nodes */
    uint32_t *slot;    /* for each of their edges: the sum that it is added to */
    size_t *out;       /* n + 1: where the sums for each PE begin */
    /* Symmetric: the number of sums that each PE sends here, where they begin here, and where this
     * PE's begin there. */
    uint64_t *room, *start, *there;
    uint32_t *node;    /* symmetric: the node of each sum that arrives here */
    double *sums;      /* symmetric: those sums */
    uint64_t *signals; /* symmetric: of each PE, the iteration that it has sent */
} plan;

/* Numbers the distinct targets of this PE's edges in the order of nodes, and so of the
 * PEs that have them: a number is the place of the target's sum. Sets plan.out and plan.slot.
 * Returns the targets by number. */
static uint32_t *number_targets(void)
{
    const uint32_t *edges = g->target + g->first[plan.begin];
    size_t count = 0, all = g->first[plan.end] - g->first[plan.begin];
    uint32_t *number = private(g->nodes, sizeof *number);
    uint32_t *targets = private(g->nodes, sizeof *targets);
    for (size_t e = 0; e < all; e++)
        number[edges[e]] = 1;
    plan.out = private((size_t)n + 1, sizeof *plan.out);
    for (int pe = 0; pe < n; pe++) {
        for (size_t v = first_of(pe); v < first_of(pe + 1); v++) {
            if (number[v] == 0)
                continue;
            targets[count] = (uint32_t)v;
            number[v] = (uint32_t)count++;
        }
        plan.out[pe + 1] = count;
    }
    plan.slot = private(all, sizeof *plan.slot);
    for (size_t e = 0; e < all; e++)
        plan.slot[e] = number[edges[e]];
    free(number);
    return targets;
}

/* Agrees with every PE on which sums come from it and go to it, and in which order. sizes[0] counts
 * the sums that arrive here. sizes[1] is the largest such count of all PEs, because all of them
 * allocate the same symmetric memory. */
static void make_plan(void)
{
    plan.begin = first_of(me);
    plan.end = first_of(me + 1);
    uint32_t *targets = number_targets();
    size_t pes = (size_t)n;
    uint64_t *going = symmetric(pes, sizeof *going), *sizes = symmetric(2, sizeof *sizes);
    plan.room = symmetric(pes, sizeof *plan.room);
    plan.start = symmetric(pes, sizeof *plan.start);
    plan.there = symmetric(pes, sizeof *plan.there);
    plan.signals = symmetric(pes, sizeof *plan.signals);
    for (size_t pe = 0; pe < pes; pe++)
        going[pe] = plan.out[pe + 1] - plan.out[pe];
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, plan.room, going, 1);
    for (size_t pe = 0; pe < pes; pe++) {
        plan.start[pe] = sizes[0];
        sizes[0] += plan.room[pe];
    }
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, plan.there, plan.start, 1);
    shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, sizes + 1, sizes, 1);
    plan.node = symmetric(sizes[1], sizeof *plan.node);
    plan.sums = symmetric(sizes[1], sizeof *plan.sums);
    for (int pe = 0; pe < n; pe++)
        shmem_uint32_put(plan.node + plan.there[pe], targets + plan.out[pe], going[pe], pe);
    shmem_barrier_all();
    shmem_free(sizes);
    shmem_free(going);
    free(targets);
}

/* One iteration over this PE's nodes; number counts iterations from 1. Nodes without edges have no
 * targets: their ranks on all PEs, whose sum is dangling, go to all nodes in equal parts. */
static void iterate(double *rank, double *sums, double dangling, uint64_t number)
{
    size_t base = g->first[plan.begin];
    for (size_t i = 0; i < plan.out[n]; i++)
        sums[i] = 0;
    for (size_t u = plan.begin; u < plan.end; u++)
        for (size_t e = g->first[u]; e < g->first[u + 1]; e++)
            sums[plan.slot[e - base]] += rank[u - plan.begin] / (double)degree(u);
    for (int step = 0; step < n; step++) {
        int pe = (me + step) % n; /* not all to PE 0 first */
        shmem_double_put_signal_nbi(plan.sums + plan.there[pe], sums + plan.out[pe],
                                    plan.out[pe + 1] - plan.out[pe], plan.signals + me, number,
                                    SHMEM_SIGNAL_SET, pe);
    }
    for (size_t u = 0; u < plan.end - plan.begin; u++)
        rank[u] = (1 - damping + damping * dangling) / (double)g->nodes;
    for (int pe = 0; pe < n; pe++) { /* in order of PE, so that runs are repeatable */
        shmem_signal_wait_until(plan.signals + pe, SHMEM_CMP_GE, number);
        for (size_t i = plan.start[pe]; i < plan.start[pe] + plan.room[pe]; i++)
            rank[plan.node[i] - plan.begin] += damping * plan.sums[i];
    }
    shmem_quiet(); /* the next iteration writes to sums */
}

/* The sum of the ranks of the nodes from begin up to end that have no edges; rank begins with that
 * of node begin. */
static double dangling_of(const double *rank, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t u = begin; u < end; u++)
        if (degree(u) == 0)
            sum += rank[u - begin];
    return sum;
}

/* All ranks, by this PE alone. */
static double *serial(unsigned long iterations)
{
    double *rank = private(g->nodes, sizeof *rank), *next = private(g->nodes, sizeof *next);
    for (size_t u = 0; u < g->nodes; u++)
        rank[u] = 1.0 / (double)g->nodes;
    for (unsigned long i = 0; i < iterations; i++) {
        double dangling = dangling_of(rank, 0, g->nodes);
        for (size_t u = 0; u < g->nodes; u++)
            next[u] = (1 - damping + damping * dangling) / (double)g->nodes;
        for (size_t u = 0; u < g->nodes; u++)
            for (size_t e = g->first[u]; e < g->first[u + 1]; e++)
                next[g->target[e]] += damping * rank[u] / (double)degree(u);
        double *swap = rank;
        rank = next;
        next = swap;
    }
    free(next);
    return rank;
}

/* Fetches all ranks into all; returns the greatest relative difference from a serial run, NaN if
 * some rank is not a number. Only PE 0 calls it. */
static double verify(const double *rank, double *all, unsigned long iterations)
{
    for (int pe = 0; pe < n; pe++)
        shmem_double_get_nbi(all + first_of(pe), rank, first_of(pe + 1) - first_of(pe), pe);
    shmem_quiet();
    double *want = serial(iterations), most = 0;
    for (size_t u = 0; u < g->nodes; u++) {
        double part = (all[u] > want[u] ? all[u] - want[u] : want[u] - all[u]) / want[u];
        /* A NaN is unequal to itself. It stays, because no part is above it. */
        if (part > most || part != part)
            most = part;
    }
    free(want);
    return most;
}

/* Prints the words of the five nodes with the highest ranks, which it sets to 0. */
static void print_best(double *all)
{
    printf("pagerank: most is led to");
    for (int i = 0; i < 5 && (size_t)i < g->nodes; i++) {
        size_t best = 0;
        for (size_t u = 0; u < g->nodes; u++)
            if (all[u] > all[best])
                best = u;
        printf("%s %s (%.5f)", i > 0 ? "," : "", g->word[best], all[best]);
        all[best] = 0;
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    char *end = "";
    unsigned long iterations = argc > 1 ? strtoul(argv[1], &end, 10) : 50;
    if (*end != '\0' || iterations == 0 || (argc > 1 && argv[1][0] == '-'))
        fail("read the arguments: a positive number is expected (usage: pagerank [iterations "
             "[folder]])");
    const char *error, *folder = getenv("WNSEARCHDIR"); /* WordNet's own variable */
    if (argc > 2 || folder == NULL)
        folder = argc > 2 ? argv[2] : "/usr/share/wordnet";
    g = read_graph(folder, &error);
    if (g == NULL)
        fail(error);
    make_plan();
    double *rank = symmetric(g->nodes / (size_t)n + 1, sizeof *rank);
    double *dangling = symmetric(2, sizeof *dangling);
    double *sums = private(plan.out[n], sizeof *sums);
    for (size_t u = 0; u < plan.end - plan.begin; u++)
        rank[u] = 1.0 / (double)g->nodes;

    shmem_barrier_all();
    double begin = now();
    for (unsigned long i = 1; i <= iterations; i++) {
        dangling[0] = dangling_of(rank, plan.begin, plan.end);
        /* No PE has this sum before all PEs have entered the reduction. By then they have read
         * plan.sums of the iteration before, which this iteration overwrites. */
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dangling + 1, dangling, 1);
        iterate(rank, sums, dangling[1], i);
    }
    shmem_barrier_all();
    double took = now() - begin;

    if (me == 0) {
        double *all = private(g->nodes, sizeof *all), most = verify(rank, all, iterations);
        if (!(most <= tolerance))
            fail("the ranks differ from those of a serial run (this is a bug)");
        print_best(all);
        printf("pagerank: %zu nodes, %zu edges, %lu iterations on %d PEs, within %.0e of a serial "
               "run: %.3f s, %.1f million edges/s\n",
               g->nodes, g->edges, iterations, n, most, took,
               1e-6 * (double)g->edges * (double)iterations / took);
        free(all);
    }
    shmem_finalize();
    free(sums);
    free(plan.slot);
    free(plan.out);
    free_graph(g);
    return 0;
}
