/*
 * eager.c: tokens of a mixture of experts, as eager transfers: each PE is an expert, sends its
 * tokens to the experts that a gate has chosen, receives its own, and sends them back scaled.
 * A token is worked on as soon as it is there, whatever the others do.
 *
 * usage: eager [tokens [rounds [tile]]]
 *
 * tile: 4096, 128, 8, 1 for a notification, 0 for a put with a signal; without it the best that all
 * routes keep.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <shmem.h>
#include <shmemx.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    VALUES = 1792,
    SHARE = 4
}; /* floats of a token, 7 KiB; experts are SHARE PEs apart at most */

static int me, n, tokens;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The gate: the expert of a token in a round, which both sides can compute. */
static int expert_of(int pe, int token, int round)
{
    return (pe + (token * 7 + round) % SHARE) % n;
}

static float value_of(int pe, int token, int round, int i)
{
    return (float)((pe * 31 + token * 17 + round * 5 + i) % 1000);
}

/* Slots: there is one for each token of each PE, on the way to the expert and on the way back. */
static uint32_t slot_of(int pe, int token)
{
    return (uint32_t)(pe * tokens + token);
}

static void make(const char *what, shmemx_eager_t *e, size_t count, int tile)
{
    int rc = shmemx_eager_create(VALUES * sizeof(float), count, tile, e);
    if (rc == 0)
        return;
    if (me == 0)
        fprintf(stderr, "eager: the slots for tokens %s: %s\n", what,
                rc == 1 ? "a route does not keep tiles of this size" : "the heap has no room");
    shmem_global_exit(1);
}

int main(int argc, char **argv)
{
    tokens = argc > 1 ? atoi(argv[1]) : 64;
    const int rounds = argc > 2 ? atoi(argv[2]) : 100;
    const int tile = argc > 3 ? atoi(argv[3]) : SHMEMX_EAGER_BEST;
    float values[VALUES];
    shmemx_eager_t out, back;
    long wrong = 0;

    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    if (tokens <= 0 || rounds <= 0) {
        fprintf(stderr, "eager: PE %d: read the arguments: positive numbers are expected\n", me);
        shmem_global_exit(1);
    }
    /* An epoch counts the tokens of a slot, and a token of a PE may come to any expert. */
    uint32_t *epochs = calloc((size_t)n * (size_t)tokens, sizeof *epochs);
    uint32_t *sent = calloc((size_t)n * (size_t)tokens, sizeof *sent);
    if (epochs == NULL || sent == NULL)
        shmem_global_exit(1);
    make("to experts", &out, (size_t)n * (size_t)tokens, tile);
    make("back", &back, (size_t)tokens, tile);

    shmem_barrier_all();
    double start = seconds();
    for (int round = 0; round < rounds; round++) {
        for (int t = 0; t < tokens; t++) {
            int expert = expert_of(me, t, round);
            for (int i = 0; i < VALUES; i++)
                values[i] = value_of(me, t, round, i);
            shmemx_eager_send(&out, slot_of(me, t), values, ++sent[expert * tokens + t], expert);
        }
        for (int pe = 0; pe < n; pe++) /* the part of the expert */
            for (int t = 0; t < tokens; t++) {
                if (expert_of(pe, t, round) != me)
                    continue;
                uint32_t slot = slot_of(pe, t);
                shmemx_eager_recv(&out, slot, values, ++epochs[slot]);
                for (int i = 0; i < VALUES; i++)
                    values[i] *= 2;
                shmemx_eager_send(&back, (uint32_t)t, values, (uint32_t)round + 1, pe);
            }
        for (int t = 0; t < tokens; t++) {
            shmemx_eager_recv(&back, (uint32_t)t, values, (uint32_t)round + 1);
            for (int i = 0; i < VALUES; i++)
                wrong += values[i] != 2 * value_of(me, t, round, i);
        }
        /* A PE that has all of its tokens back knows that its slots at the experts are free. */
    }
    double took = seconds() - start;
    shmem_barrier_all();
    if (me == 0)
        printf("eager: %d PEs, %d tokens of %zu bytes, tiles of %u: %.1f us a round\n", n, tokens,
               sizeof values, out.tile, 1e6 * took / rounds);
    if (wrong > 0)
        printf("eager: PE %d has %ld wrong values\n", me, wrong);
    shmemx_eager_destroy(&back);
    shmemx_eager_destroy(&out);
    free(epochs);
    free(sent);
    shmem_finalize();
    return wrong > 0;
}
