/*
 * model.c: what the model of collective calls chooses, with the figures that
 * runtime/job/network/wire.go has of tcp, verbs and EFA.
 */
#include "model.h"

#include <stdio.h>

struct shmemi_state shmemi_state;
struct shmemi_team shmemi_world;

static int passed, failed;

static void check(bool right, const char *what, uint32_t nodes, size_t bytes)
{
    passed += right;
    failed += !right;
    if (!right)
        printf("%s: %u nodes, %zu bytes\n", what, nodes, bytes);
}

static struct shmemi_team of(uint32_t nodes, int n)
{
    return (struct shmemi_team){.n = n, .n_nodes = nodes};
}

static void tcp(void)
{
    shmemi_state = (struct shmemi_state){.wire_latency = 2000,
                                         .wire_post = 6000,
                                         .wire_kib = 400,
                                         .wire_send = 36,
                                         .wire_receive = 40};
}

static void efa(void)
{
    shmemi_state = (struct shmemi_state){
        .wire_latency = 15000, .wire_post = 500, .wire_kib = 82, .wire_send = 100};
}

static enum shmemi_reduction reduction(uint32_t nodes, size_t bytes)
{
    struct shmemi_team t = of(nodes, (int)nodes);
    t.round_bytes = SHMEMI_WORLD_ROUND;
    return shmemi_model_reduction(&t, bytes);
}

static struct shmemi_tree tree(uint32_t nodes, size_t bytes)
{
    struct shmemi_team t = of(nodes, (int)nodes);
    return shmemi_model_tree(&t, bytes);
}

/* Few messages count over tcp, and few steps where messages cost little. */
static void reductions(void)
{
    tcp();
    check(reduction(2, 64) == SHMEMI_STRAIGHT, "tcp, straight", 2, 64);
    check(reduction(2, 1 << 20) == SHMEMI_OWNERS, "tcp, owners", 2, 1 << 20);
    check(reduction(4, 64) == SHMEMI_PAIRS, "tcp, pairs", 4, 64);
    check(reduction(4, 32 << 10) == SHMEMI_PAIRS, "tcp, pairs", 4, 32 << 10);
    check(reduction(4, 1 << 20) == SHMEMI_OWNERS, "tcp, owners", 4, 1 << 20);
    check(reduction(3, 64) == SHMEMI_STRAIGHT, "tcp, straight", 3, 64);
    efa();
    check(reduction(4, 64) == SHMEMI_STRAIGHT, "EFA, straight", 4, 64);
    check(reduction(16, 64) == SHMEMI_STRAIGHT, "EFA, straight", 16, 64);
    /* TestSimColumns in runtime/proxy has their times. */
    for (uint32_t nodes = 4; nodes <= 16; nodes += 12) {
        check(reduction(nodes, 4 << 10) == SHMEMI_STRAIGHT, "EFA, straight", nodes, 4 << 10);
        check(reduction(nodes, 64 << 10) == SHMEMI_OWNERS, "EFA, owners", nodes, 64 << 10);
        check(reduction(nodes, 1 << 20) == SHMEMI_OWNERS, "EFA, owners", nodes, 1 << 20);
    }
    check(reduction(128, 64) != SHMEMI_PAIRS, "EFA, no pairs", 128, 64);
    check(reduction(128, 1 << 20) == SHMEMI_OWNERS, "EFA, owners", 128, 1 << 20);
    /* A message to each node takes too long, and then a round has no part for each. */
    check(reduction(1000, 4 << 10) == SHMEMI_PAIRS, "EFA, pairs", 1000, 4 << 10);
    check(reduction(1000, 64 << 10) == SHMEMI_HALVES, "EFA, halves", 1000, 64 << 10);
    check(reduction(10000, 1 << 20) == SHMEMI_HALVES, "EFA, halves", 10000, 1 << 20);
}

/* A team with small rounds, or without, reduces much in dest, if its nodes have two PEs. */
static void in_dest(void)
{
    struct shmemi_team t = of(16, 128);
    char rounds = 0;
    efa();
    t.columns = 8;
    check(shmemi_model_in_dest(&t, 1024), "no rounds, in dest", 16, 1024);
    t.rounds = &rounds;
    t.round_bytes = SHMEMI_NARROW_ROUND;
    check(!shmemi_model_in_dest(&t, 1024), "EFA, in rounds", 16, 1024);
    check(shmemi_model_in_dest(&t, 1 << 20), "EFA, in dest", 16, 1 << 20);
    t.round_bytes = SHMEMI_TEAM_ROUND;
    check(!shmemi_model_in_dest(&t, 64 << 10), "EFA, in rounds", 16, 64 << 10);
    check(shmemi_model_in_dest(&t, 16 << 20), "EFA, in dest", 16, 16 << 20);
    shmemi_state.collectives = SHMEMI_COLLECTIVES_OWNERS;
    check(!shmemi_model_in_dest(&t, 16 << 20), "owners", 16, 16 << 20);
    shmemi_state.collectives = SHMEMI_COLLECTIVES_DEST;
    check(shmemi_model_in_dest(&t, 1024), "dest", 16, 1024);
}

static void trees(void)
{
    efa();
    check(tree(4, 8).children == 8, "EFA, wide", 4, 8);
    check(tree(128, 8).children == 8, "EFA, wide", 128, 8);
    check(tree(4, 64 << 20).children == 1, "EFA, chain", 4, 64 << 20);
    check(tree(4, 64 << 20).piece <= 256 << 10, "EFA, pieces", 4, 64 << 20);
    tcp();
    check(tree(4, 8).children > 1, "tcp, no chain", 4, 8);
    check(tree(4, 256 << 10).children > 2, "tcp, no chain", 4, 256 << 10);
    check(tree(4, 256 << 10).piece == 256 << 10, "tcp, one piece", 4, 256 << 10);
    check(tree(4, 4 << 20).children == 1, "tcp, chain", 4, 4 << 20);
    /* In one piece, of an active set. */
    struct shmemi_team t = of(16, 16);
    check(shmemi_model_children(&t, 8) > 1, "tcp, one piece", 16, 8);
    check(shmemi_model_children(&t, 4 << 20) < 8, "tcp, one piece", 16, 4 << 20);
    shmemi_state.collectives = SHMEMI_COLLECTIVES_FLAT;
    check(shmemi_model_children(&t, 8) == 16, "flat", 16, 8);
    shmemi_state.collectives = SHMEMI_COLLECTIVES_CHAIN;
    check(shmemi_model_children(&t, 8) == 1, "chain, one piece", 16, 8);
}

/* The words of SHMEM_COLLECTIVES count more than the figures. */
static void words(void)
{
    tcp();
    shmemi_state.collectives = SHMEMI_COLLECTIVES_OWNERS | SHMEMI_COLLECTIVES_CHAIN;
    check(reduction(4, 64) == SHMEMI_OWNERS, "owners", 4, 64);
    check(tree(4, 8).children == 1, "chain", 4, 8);
    shmemi_state.collectives = SHMEMI_COLLECTIVES_PAIRS | SHMEMI_COLLECTIVES_WIDE;
    check(reduction(4, 1024) == SHMEMI_PAIRS, "pairs", 4, 1024);
    check(reduction(3, 1024) == SHMEMI_PAIRS, "pairs", 3, 1024);
    shmemi_state.collectives = SHMEMI_COLLECTIVES_HALVES | SHMEMI_COLLECTIVES_WIDE;
    check(reduction(3, 1024) == SHMEMI_HALVES, "halves", 3, 1024);
    check(tree(128, 64 << 20).children == 8, "wide", 128, 64 << 20);
    struct shmemi_team t = of(4, 8);
    shmemi_state.collectives = SHMEMI_COLLECTIVES_APART;
    check(!shmemi_model_packs(&t, 8), "apart", 4, 8);
    shmemi_state.collectives = SHMEMI_COLLECTIVES_FLAT;
    check(!shmemi_by_nodes(&t), "flat", 4, 8);
    shmemi_state.collectives = 0;
    check(shmemi_by_nodes(&t) && shmemi_model_packs(&t, 8), "packed", 4, 8);
    t.n_nodes = 1;
    check(!shmemi_by_nodes(&t), "one node", 1, 8);
}

/* One PE on each of four nodes: two steps in pairs send 1 and 2 blocks, and one step three of them,
 * which fit a message up to 4104 bytes. */
static void packs(void)
{
    struct shmemi_team t = of(4, 4);
    tcp();
    check(shmemi_model_packs(&t, 8), "tcp, packed", 4, 8);
    check(!shmemi_model_packs(&t, 4096), "tcp, apart", 4, 4096);
    check(!shmemi_model_packs(&t, 1 << 20), "tcp, apart", 4, 1 << 20);
    efa();
    check(!shmemi_model_packs(&t, 8), "EFA, apart", 4, 8);
    t = of(6, 6);
    tcp();
    check(!shmemi_model_packs(&t, 8), "tcp, six nodes", 6, 8);
    t = of(19, 19);
    check(shmemi_model_packs(&t, 8), "tcp, packed", 19, 8);
    efa();
    check(!shmemi_model_packs(&t, 8), "EFA, apart", 19, 8);
    t = of(1000, 1000);
    check(shmemi_model_packs(&t, 8), "EFA, packed", 1000, 8);
}

/* Several PEs on each node: the small blocks of a node go in one message, and others in a message
 * each, which the PEs send at the same time. An all-to-all has a message for each pair of PEs. */
static void packs_of_several(void)
{
    struct shmemi_team t = of(2, 16);
    t.columns = 8;
    tcp();
    check(shmemi_model_packs(&t, 8 * 8), "tcp, packed", 2, 8);
    check(!shmemi_model_packs(&t, 8 * 1024), "tcp, apart", 2, 1024);
    check(shmemi_model_swaps_packed(&t, 32 << 10), "tcp, packed", 2, 32 << 10);
    check(!shmemi_model_swaps_packed(&t, 1 << 20), "tcp, apart", 2, 1 << 20);
    t = of(4, 16);
    check(shmemi_model_packs(&t, 4 * 256), "tcp, packed", 4, 256);
    check(!shmemi_model_packs(&t, 4 * 2048), "tcp, apart", 4, 2048);
    efa();
    check(!shmemi_model_packs(&t, 4 * 8), "EFA, apart", 4, 8); /* two steps take two latencies */
    t = of(128, 1024);
    check(shmemi_model_packs(&t, 8 * 8), "EFA, packed", 128, 8);
}

/* Small blocks go to many nodes in steps: each is sent several times, but few messages are. */
static void swaps(void)
{
    static const struct {
        uint32_t nodes;
        size_t bytes;
        bool steps;
    } of_efa[] = {{16, 8, false},  {64, 8, false},   {300, 8, true},     {300, 64, false},
                  {1000, 8, true}, {1000, 64, true}, {300, 1024, false}, {1000, 4096, false}};
    struct shmemi_team t;
    efa();
    for (size_t i = 0; i < sizeof of_efa / sizeof *of_efa; i++) {
        t = of(of_efa[i].nodes, (int)of_efa[i].nodes);
        check(shmemi_model_swaps_in_steps(&t, of_efa[i].bytes) == of_efa[i].steps,
              of_efa[i].steps ? "EFA, in steps" : "EFA, not in steps", t.n_nodes, of_efa[i].bytes);
    }
    tcp();
    t = of(3, 3);
    check(!shmemi_model_swaps_in_steps(&t, 8), "tcp, not in steps", 3, 8);
    t = of(19, 19);
    check(shmemi_model_swaps_in_steps(&t, 8), "tcp, in steps", 19, 8);
    check(!shmemi_model_swaps_in_steps(&t, 64 << 10), "tcp, not in steps", 19, 64 << 10);
    shmemi_state.collectives = SHMEMI_COLLECTIVES_STEPS;
    check(shmemi_model_swaps_in_steps(&t, 64 << 10), "steps", 19, 64 << 10);
}

/* Small blocks of a reducescatter go in halves between many nodes. */
static void scatters(void)
{
    struct shmemi_team t = of(16, 16);
    t.round_bytes = SHMEMI_WORLD_ROUND;
    efa();
    check(!shmemi_model_scatters_in_halves(&t, 8, 8), "EFA, not in halves", 16, 8);
    t = of(300, 300);
    t.round_bytes = SHMEMI_WORLD_ROUND;
    check(shmemi_model_scatters_in_halves(&t, 8, 8), "EFA, in halves", 300, 8);
    check(!shmemi_model_scatters_in_halves(&t, 64 << 10, 8), "EFA, not in halves", 300, 64 << 10);
    t = of(10000, 10000);
    t.round_bytes = SHMEMI_WORLD_ROUND;
    check(shmemi_model_scatters_in_halves(&t, 64 << 10, 8), "no parts", 10000, 64 << 10);
    t = of(100000, 100000);
    t.round_bytes = SHMEMI_WORLD_ROUND;
    check(!shmemi_model_scatters_in_halves(&t, 8, 8), "no room", 100000, 8);
}

/* Of a job on one node all figures are 0. */
static void none(void)
{
    shmemi_state = (struct shmemi_state){0};
    check(!shmemi_model_pairs(16, 8), "no pairs", 16, 8);
}

int main(void)
{
    reductions();
    in_dest();
    trees();
    words();
    packs();
    packs_of_several();
    swaps();
    scatters();
    none();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
