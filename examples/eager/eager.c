/*
 * eager.c: tokens of a mixture of experts, as eager transfers: each PE is an expert, sends its
 * tokens to the experts that a gate has chosen, doubles the tokens that it receives, and sends them
 * back. It handles tokens in the order in which they come, so that a late one holds up no other.
 *
 * usage: eager [tokens [rounds [tile]]]
 *
 * tile: bytes that a path delivers in ascending order, with a signal last: 4096, 128 or 8. 1 sends
 * each token with a notification, 0 as a put with a signal. By default the library selects the best
 * that the paths between all PEs allow (SHMEMX_EAGER_BEST).
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <shmem.h>
#include <shmemx.h>

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    VALUES = 1792, /* floats of a token: 7 KiB */
    SHARE = 4      /* experts of a PE's tokens: the PE itself and the next three */
};

/* A token that this PE waits for in a round: one of pe, for this expert, or one of its own, which
 * comes back. */
struct awaited {
    int pe, token;
    bool back;
};

static int me, n, tokens; /* this PE, the number of PEs, and the tokens of each PE */
static long wrong;        /* values that are not what they must be */

static shmemx_eager_t out, back; /* slots for tokens to experts, and back */

/* The epoch of a send is how many tokens have used the slot, this one included. epochs has the
 * count of each slot here, sent that of this PE's slots at each expert. */
static uint32_t *epochs, *sent;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The gate: the expert of a token of pe in a round. The expert computes it, too, and so knows which
 * tokens come to it. */
static int expert_of(int pe, int token, int round)
{
    return (pe + (token * 7 + round) % SHARE) % n;
}

static float value_of(int pe, int token, int round, int i)
{
    return (float)((pe * 31 + token * 17 + round * 5 + i) % 1000);
}

/* The slot at every expert for a token of pe. On the way back the slot has the token's number. */
static uint32_t slot_of(int pe, int token)
{
    return (uint32_t)(pe * tokens + token);
}

/* Allocates count slots on each PE; direction is for the error. All PEs make the call. */
static void create_slots(const char *direction, shmemx_eager_t *e, size_t count, int tile)
{
    int rc = shmemx_eager_create(VALUES * sizeof(float), count, tile, e);
    if (rc == 0)
        return;
    if (me == 0)
        fprintf(stderr, "eager: the slots for tokens %s: %s\n", direction,
                rc == 1 ? "a route does not keep tiles of this size" : "the heap has no room");
    shmem_global_exit(1);
}

static void send_tokens(int round)
{
    float values[VALUES];
    for (int t = 0; t < tokens; t++) {
        int expert = expert_of(me, t, round);
        for (int i = 0; i < VALUES; i++)
            values[i] = value_of(me, t, round, i);
        shmemx_eager_send(&out, slot_of(me, t), values, ++sent[expert * tokens + t], expert);
    }
}

/* Fills all with the tokens that this PE waits for in a round, and returns how many they are. */
static size_t list_awaited(struct awaited *all, int round)
{
    size_t count = 0;
    for (int pe = 0; pe < n; pe++)
        for (int t = 0; t < tokens; t++)
            if (expert_of(pe, t, round) == me)
                all[count++] = (struct awaited){pe, t, false};
    for (int t = 0; t < tokens; t++)
        all[count++] = (struct awaited){me, t, true};
    return count;
}

/* Handles a token if it has come: as its expert doubles it and sends it back, or checks one that is
 * back. Returns whether it has come. */
static bool handle(const struct awaited *a, int round)
{
    float values[VALUES];
    const uint32_t slot = slot_of(a->pe, a->token), answer = (uint32_t)a->token;
    const uint32_t epoch = (uint32_t)round + 1; /* of answers: each slot gets one in each round */
    if (a->back) {
        if (!shmemx_eager_ready(&back, answer, epoch))
            return false;
        shmemx_eager_recv(&back, answer, values, epoch);
        for (int i = 0; i < VALUES; i++)
            wrong += values[i] != 2 * value_of(me, a->token, round, i);
        return true;
    }
    if (!shmemx_eager_ready(&out, slot, epochs[slot] + 1))
        return false;
    shmemx_eager_recv(&out, slot, values, ++epochs[slot]);
    for (int i = 0; i < VALUES; i++)
        values[i] *= 2;
    shmemx_eager_send(&back, answer, values, epoch, a->pe);
    return true;
}

/* Handles all tokens of a round as they come. When all are back the experts have read them, and the
 * next round may reuse their slots. */
static void handle_all(struct awaited *all, int round)
{
    for (size_t left = list_awaited(all, round); left > 0;) {
        size_t kept = 0;
        for (size_t i = 0; i < left; i++)
            if (!handle(&all[i], round))
                all[kept++] = all[i];
        if (kept == left)
            sched_yield(); /* none has come: another PE may need this processor to send one */
        left = kept;
    }
}

int main(int argc, char **argv)
{
    tokens = argc > 1 ? atoi(argv[1]) : 64;
    const int rounds = argc > 2 ? atoi(argv[2]) : 100;
    const int tile = argc > 3 ? atoi(argv[3]) : SHMEMX_EAGER_BEST;

    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    if (tokens <= 0 || rounds <= 0) {
        fprintf(stderr, "eager: PE %d: read the arguments: positive numbers are expected\n", me);
        shmem_global_exit(1);
    }
    const size_t slots = (size_t)n * (size_t)tokens;
    epochs = calloc(slots, sizeof *epochs);
    sent = calloc(slots, sizeof *sent);
    struct awaited *all = calloc(slots + (size_t)tokens, sizeof *all);
    if (epochs == NULL || sent == NULL || all == NULL)
        shmem_global_exit(1);
    create_slots("to experts", &out, slots, tile);
    create_slots("back", &back, (size_t)tokens, tile);

    shmem_barrier_all();
    double start = seconds();
    for (int round = 0; round < rounds; round++) {
        send_tokens(round);
        handle_all(all, round);
    }
    double took = seconds() - start;
    shmem_barrier_all();
    if (me == 0)
        printf("eager: %d PEs, %d tokens of %zu bytes, tiles of %u: %.1f us a round\n", n, tokens,
               VALUES * sizeof(float), out.tile, 1e6 * took / rounds);
    if (wrong > 0)
        printf("eager: PE %d has %ld wrong values\n", me, wrong);
    shmemx_eager_destroy(&back);
    shmemx_eager_destroy(&out);
    free(all);
    free(epochs);
    free(sent);
    shmem_finalize();
    return wrong > 0;
}
