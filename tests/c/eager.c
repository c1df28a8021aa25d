/*
 * eager.c: eager transfers: every byte of tokens of many sizes, in every tile that the paths of
 * the host keep, over slots that are used again and again.
 *
 * usage: eager [epochs [tile [best]]]
 *
 * tile: the largest tile that the paths are expected to keep. best: the tile that
 * SHMEMX_EAGER_BEST is expected to select for a token of 5000 bytes.
 */
#include "check.h"

#include <shmemx.h>

#include <shmem/eager_layout.h>

#include <pthread.h>

enum { SIZE, TILE, TOKENS, READY, REUSE, PARTS, WRAP, NBI, THREADED, SYMBOLS };
enum { SLOTS = 5, LARGEST = 20000, GUARD = 16, MANY = 40, COUNTERS = 4096, THREADS = 4 };

static const char *const names[SYMBOLS] = {"shmemx_eager_size",
                                           "shmemx_eager_tile",
                                           "shmemx_eager_send",
                                           "shmemx_eager_ready",
                                           "shmemx_eager_recv",
                                           "shmemx_eager_wait",
                                           "shmemx_eager_wait of epoch 0",
                                           "shmemx_eager_send_nbi",
                                           "shmemx_eager_send of four threads"};
static const int tiles[] = {SHMEMX_EAGER_NONE, SHMEMX_EAGER_NOTIFY, SHMEMX_EAGER_PACKET,
                            SHMEMX_EAGER_LINE, SHMEMX_EAGER_BLOCK};

static unsigned char token[LARGEST], room[LARGEST + 2 * GUARD];
static int kept;      /* the largest tile that the host's routes between all PEs keep */
static bool counts;   /* tokens may have notifications */
static bool carried;  /* networks are expected to carry these in the writes of the tokens */
static size_t little; /* bytes of the largest token that a network carries as a message */

static void start(int symbol)
{
    check_start((size_t)symbol, names[symbol]);
}

static unsigned char byte_of(int pe, uint32_t slot, uint32_t epoch, size_t i)
{
    return (unsigned char)check_mix(((uint64_t)epoch << 32) + (i << 8) + slot * 16 + (unsigned)pe);
}

static void fill(unsigned char *at, size_t n, int pe, uint32_t slot, uint32_t epoch)
{
    for (size_t i = 0; i < n; i++)
        at[i] = byte_of(pe, slot, epoch, i);
}

static bool make(size_t nbytes, size_t count, int tile, shmemx_eager_t *e)
{
    int rc = shmemx_eager_create(nbytes, count, tile, e);
    CHECK(rc == 0, "create of %zu bytes in tiles of %d: %d", nbytes, tile, rc);
    return rc == 0;
}

/* The layout, as the documentation has it. */
static void sizes(void)
{
    static const struct {
        size_t nbytes;
        int tile;
        size_t size;
    } rows[] = {
        {1, 4096, 32},      {4079, 4096, 4096}, {4080, 4096, 4096}, {4081, 4096, 4128},
        {7168, 4096, 7200}, {8160, 4096, 8192}, {1, 128, 16},       {120, 128, 128},
        {121, 128, 144},    {7168, 128, 7648},  {1, 8, 8},          {4, 8, 8},
        {5, 8, 16},         {7168, 8, 14336},   {1, 0, 32},         {7168, 0, 7184},
        {1, 1, 32},         {7168, 1, 7184},
    };
    start(SIZE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = shmemx_eager_size(rows[i].nbytes, rows[i].tile);
        CHECK(size == rows[i].size, "%zu bytes in tiles of %d: %zu", rows[i].nbytes, rows[i].tile,
              size);
    }
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
        for (uint32_t nbytes = 1; nbytes < 9000; nbytes++) {
            /* No byte of data is where a signal is, and none is beyond the end. */
            uint32_t tile = (uint32_t)tiles[t], last = shmemi_eager_tiles(nbytes, tile) - 1;
            uint32_t end = shmemi_eager_data_at(nbytes - 1, nbytes, tile);
            uint32_t signal = shmemi_eager_signal_at(last, nbytes, tile);
            CHECK(end < signal && signal - end <= shmemi_eager_unit(tile) &&
                      signal + shmemi_eager_unit(tile) == shmemx_eager_size(nbytes, tiles[t]) &&
                      shmemi_eager_stride(nbytes, tile) >= signal + shmemi_eager_unit(tile),
                  "%u bytes in tiles of %u: data to %u, signal at %u", nbytes, tile, end, signal);
        }
}

/* Counters of slots: none is taken twice, and all are free again in the end. */
static void counters(bool on_gpu)
{
    shmemx_eager_t all = {0}, none = {0}, half[2];
    int rc = shmemx_eager_create(1, COUNTERS, SHMEMX_EAGER_NOTIFY, &all);
    CHECK(rc == 0, "slots for all counters: %d", rc);
    if (!(counts = rc == 0))
        return;
    rc = shmemx_eager_create(1, 1, SHMEMX_EAGER_NOTIFY, &none);
    CHECK(rc == 2 && none.slots == NULL, "one more counter than there is: %d", rc);
    rc = shmemx_eager_create(5000, 1, SHMEMX_EAGER_BEST, &none);
    CHECK(rc == 0 && (on_gpu ? none.tile != SHMEMX_EAGER_NOTIFY : (int)none.tile == kept),
          "without a counter: %d, tile %u", rc, none.tile);
    shmemx_eager_destroy(&none);
    shmemx_eager_destroy(&all);
    for (int i = 0; i < 2; i++)
        make(1, COUNTERS / 2, SHMEMX_EAGER_NOTIFY, &half[i]);
    CHECK(half[0].counter + half[1].counter == COUNTERS / 2, "counters %u and %u", half[0].counter,
          half[1].counter);
    for (int i = 0; i < 2; i++)
        shmemx_eager_destroy(&half[i]);
}

/* What is kept, and that other tiles are refused. */
static void routes(int expected, int best)
{
    int *least = check_alloc(2 * sizeof *least);
    start(TILE);
    /* Slots in the memory of a GPU have the routes of kernels. */
    bool on_gpu = shmemx_eager_tile(check.me) == SHMEMX_EAGER_NONE;
    least[0] = SHMEMX_EAGER_BLOCK;
    for (int pe = 0; pe < check.n; pe++) {
        int tile = shmemx_eager_tile(pe);
        bool far = shmem_ptr(least, pe) == NULL;
        CHECK(on_gpu || far || tile == SHMEMX_EAGER_BLOCK, "PE %d: %d", pe, tile);
        CHECK(!far || tile == SHMEMX_EAGER_NONE || expected >= tile, "PE %d: %d", pe, tile);
        little = far ? 4096 : little;
        least[0] = tile < least[0] ? tile : least[0];
    }
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, least + 1, least, 1);
    kept = least[1];
    shmemx_eager_t e = {0};
    if (kept == SHMEMX_EAGER_NONE && !on_gpu) {
        int rc = shmemx_eager_create(100, 1, SHMEMX_EAGER_PACKET, &e);
        CHECK(rc == 1 && e.slots == NULL, "a tile that a route does not keep: %d", rc);
    }
    CHECK(expected < 0 || kept == expected, "%d is kept", kept);
    if (make(5000, 1, SHMEMX_EAGER_BEST, &e)) {
        CHECK(on_gpu || (int)e.tile == kept ||
                  (kept == SHMEMX_EAGER_NONE && e.tile == SHMEMX_EAGER_NOTIFY),
              "the best is %u, and %d is kept", e.tile, kept);
        CHECK(best < 0 || (int)e.tile == best, "the best is %u", e.tile);
        shmemx_eager_destroy(&e);
        CHECK(e.slots == NULL && e.count == 0, "slots after destroy");
    }
    int rc = shmemx_eager_create((size_t)1 << 30, 1 << 20, SHMEMX_EAGER_NONE, &e);
    CHECK(rc == 2 && e.slots == NULL, "more than the heap has: %d", rc);
    counters(on_gpu);
}

/* Takes a token, and looks at each byte and around it. The bytes are those of an epoch. */
static void take_as(const shmemx_eager_t *e, uint32_t slot, uint32_t epoch, uint32_t bytes)
{
    unsigned char *dest = room + GUARD;
    memset(room, CHECK_SENTINEL, sizeof room);
    if (slot % 2 == 0)
        shmemx_eager_wait(e, slot, epoch);
    else
        while (!shmemx_eager_ready(e, slot, epoch))
            ;
    shmemx_eager_recv(e, slot, dest, epoch);
    for (size_t i = 0; i < e->nbytes; i++)
        if (dest[i] != byte_of(check_left(), slot, bytes, i)) {
            check_fail("tile %u, token of %u bytes, slot %u, epoch %u: byte %zu is 0x%02x", e->tile,
                       e->nbytes, slot, epoch, i, dest[i]);
            break;
        }
    check_untouched(room, 0, GUARD, "before the token");
    check_untouched(dest + e->nbytes, 0, GUARD, "behind the token");
}

static void take(const shmemx_eager_t *e, uint32_t slot, uint32_t epoch)
{
    take_as(e, slot, epoch, epoch);
}

static void send(const shmemx_eager_t *e, uint32_t slot, uint32_t epoch)
{
    fill(token, e->nbytes, check.me, slot, epoch);
    shmemx_eager_send(e, slot, token, epoch, check_right());
}

/* Tokens of one size in every slot, taken in another order than sent. */
static void tokens(size_t nbytes, int tile)
{
    shmemx_eager_t e;
    start(TOKENS);
    if (!make(nbytes, SLOTS, tile, &e))
        return;
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            send(&e, slot, epoch);
        for (uint32_t slot = SLOTS; slot-- > 0;)
            take(&e, slot, epoch);
        shmem_barrier_all();
    }
    shmemx_eager_destroy(&e);
}

static uint64_t notified(void)
{
    uint64_t n = 0;
    CHECK(shmemx_pcntr_get(shmemx_pcntr_find("notified_writes"), -1, &n) == 0, "no such counter");
    return n;
}

/*
 * More tokens at once than go at a time, each from its own source, which stays until quiet. Later
 * epochs go to slots as soon as their readers have answered, before the next quiet.
 */
static void nonblocking(size_t nbytes, int tile)
{
    shmemx_eager_t e;
    unsigned char *sources = malloc(MANY * nbytes);
    uint64_t *taken = check_alloc(MANY * sizeof *taken);
    start(NBI);
    memset(taken, 0, MANY * sizeof *taken);
    uint64_t before = notified();
    if (!make(nbytes, MANY, tile, &e))
        return;
    for (uint32_t epoch = 1; epoch <= 4; epoch++) {
        for (uint32_t slot = 0; slot < MANY; slot++) {
            unsigned char *source = sources + slot * nbytes;
            shmem_uint64_wait_until(&taken[slot], SHMEM_CMP_GE, epoch - 1);
            if (epoch % 2 == 1) /* the others send the same bytes */
                fill(source, nbytes, check.me, slot, epoch);
            shmemx_eager_send_nbi(&e, slot, source, epoch, check_right());
        }
        if (epoch % 2 == 0)
            shmem_quiet();
        for (uint32_t slot = MANY; slot-- > 0;) {
            take_as(&e, slot, epoch, epoch - (epoch % 2 == 0));
            shmem_uint64_p(&taken[slot], epoch, check_left());
        }
    }
    uint64_t writes = notified() - before, sent = 4 * MANY;
    if (carried && tile == SHMEMX_EAGER_NOTIFY && nbytes > little &&
        shmem_ptr(taken, check_right()) == NULL)
        CHECK(writes == sent, "%ju of %ju tokens were a write with a notification",
              (uintmax_t)writes, (uintmax_t)sent);
    shmemx_eager_destroy(&e); /* quiet, also for the answers */
    shmem_free(taken);
    free(sources);
}

/* A thread that sends to slots of its own, as one that waits for each token or as one that does
 * not. */
struct sender {
    const shmemx_eager_t *e;
    uint64_t *taken;
    uint32_t first, epochs;
    bool waits;
};

static void *send_some(void *argument)
{
    const struct sender *s = argument;
    const uint32_t each = MANY / THREADS;
    unsigned char *sources = malloc(each * s->e->nbytes);
    for (uint32_t epoch = 1; epoch <= s->epochs; epoch++) {
        for (uint32_t i = 0; i < each; i++) {
            uint32_t slot = s->first + i;
            unsigned char *source = sources + i * s->e->nbytes;
            shmem_uint64_wait_until(&s->taken[slot], SHMEM_CMP_GE, epoch - 1);
            fill(source, s->e->nbytes, check.me, slot, epoch);
            if (s->waits)
                shmemx_eager_send(s->e, slot, source, epoch, check_right());
            else
                shmemx_eager_send_nbi(s->e, slot, source, epoch, check_right());
        }
        shmem_quiet();
    }
    free(sources);
    return NULL;
}

/* Threads share the buffers for the network; this one takes what comes. */
static void threaded(size_t nbytes, int tile, uint32_t epochs)
{
    shmemx_eager_t e;
    pthread_t threads[THREADS];
    struct sender senders[THREADS];
    uint64_t *taken = check_alloc(MANY * sizeof *taken);
    start(THREADED);
    memset(taken, 0, MANY * sizeof *taken);
    if (!make(nbytes, MANY, tile, &e))
        return;
    for (uint32_t i = 0; i < THREADS; i++) {
        senders[i] = (struct sender){&e, taken, i * (MANY / THREADS), epochs, i % 2 == 0};
        if (pthread_create(&threads[i], NULL, send_some, &senders[i]) != 0)
            shmem_global_exit(1);
    }
    for (uint32_t epoch = 1; epoch <= epochs; epoch++)
        for (uint32_t slot = 0; slot < MANY; slot++) {
            take(&e, slot, epoch);
            shmem_uint64_p(&taken[slot], epoch, check_left());
        }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    shmemx_eager_destroy(&e);
    shmem_free(taken);
}

/* A network carries small tokens as messages, which have no tiles. */
static void refused(size_t nbytes, int tile)
{
    shmemx_eager_t e;
    start(TOKENS);
    if (nbytes > 4000)
        return; /* around the limit */
    int rc = shmemx_eager_create(nbytes, SLOTS, tile, &e);
    CHECK(rc == 1, "%zu bytes in tiles of %d by a network: %d", nbytes, tile, rc);
}

/* A slot is empty until its token has come. */
static void empty(size_t nbytes, int tile)
{
    shmemx_eager_t e;
    start(READY);
    if (!make(nbytes, SLOTS, tile, &e))
        return;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        CHECK(shmemx_eager_ready(&e, slot, 1) == 0, "tile %d: slot %u has a token", tile, slot);
    shmem_barrier_all();
    send(&e, 3, 1);
    shmemx_eager_wait(&e, 3, 1);
    CHECK(shmemx_eager_ready(&e, 3, 1) == 1, "tile %d: the token is not there", tile);
    CHECK(shmemx_eager_ready(&e, 3, 2) == 0, "tile %d: the next token is there", tile);
    for (uint32_t slot = 0; slot < 3; slot++)
        CHECK(shmemx_eager_ready(&e, slot, 1) == 0, "tile %d: slot %u has a token", tile, slot);
    shmemx_eager_destroy(&e);
}

/* One slot again and again: the taker answers, and the next token follows. */
static void reuse(size_t nbytes, int tile, uint32_t epochs)
{
    shmemx_eager_t e;
    uint64_t *taken = check_alloc(sizeof *taken);
    start(REUSE);
    *taken = 0;
    shmem_barrier_all();
    if (!make(nbytes, 1, tile, &e))
        return;
    for (uint32_t epoch = 1; epoch <= epochs; epoch++) {
        shmem_uint64_wait_until(taken, SHMEM_CMP_GE, epoch - 1);
        send(&e, 0, epoch);
        take(&e, 0, epoch);
        shmem_uint64_p(taken, epoch, check_left());
    }
    shmem_barrier_all();
    shmemx_eager_destroy(&e);
    shmem_free(taken);
}

static void put_signal(const shmemx_eager_t *e, uint32_t k, uint32_t epoch)
{
    char *at = (char *)e->slots + shmemi_eager_signal_at(k, e->nbytes, e->tile);
    uint64_t signal = shmemi_eager_signal(e->nbytes, epoch);
    if (e->tile == SHMEMX_EAGER_PACKET)
        memcpy(at, &epoch, sizeof epoch);
    else
        memcpy(at, &signal, sizeof signal);
}

/* Tiles that come one by one, in every order of the first: the token is there with the last. */
static void parts(int tile)
{
    shmemx_eager_t e;
    start(PARTS);
    if (!make(9000, 1, tile, &e))
        return;
    uint32_t n = shmemi_eager_tiles(e.nbytes, e.tile);
    for (uint32_t epoch = 1; epoch <= 3; epoch++) {
        uint32_t step = epoch == 1 ? 1 : n - 1; /* ascending, and then the last first */
        for (uint32_t i = 0, k = 0; i < n; i++, k = (k + step) % n) {
            CHECK(shmemx_eager_ready(&e, 0, epoch) == 0, "tile %d: %u of %u are enough", tile, i,
                  n);
            put_signal(&e, k, epoch);
        }
        CHECK(shmemx_eager_ready(&e, 0, epoch) == 1, "tile %d: all are not enough", tile);
        shmemx_eager_wait(&e, 0, epoch);
    }
    shmemx_eager_destroy(&e);
}

/* Epoch 0 follows 2^32 - 1. */
static void wrap(size_t nbytes, int tile)
{
    shmemx_eager_t e;
    start(WRAP);
    if (!make(nbytes, 1, tile, &e))
        return;
    for (uint32_t k = 0; k < shmemi_eager_tiles(e.nbytes, e.tile); k++)
        put_signal(&e, k, UINT32_MAX - 1);
    shmem_barrier_all();
    for (uint32_t epoch = UINT32_MAX; epoch != 2; epoch++) {
        CHECK(shmemx_eager_ready(&e, 0, epoch) == 0 || check.n > 1, "tile %d: epoch %u is there",
              tile, epoch);
        send(&e, 0, epoch);
        take(&e, 0, epoch);
        shmem_barrier_all();
    }
    shmemx_eager_destroy(&e);
}

int main(int argc, char **argv)
{
    const uint32_t epochs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 300;
    static const size_t some[] = {1,    3,    4,    5,    8,    15,    16,   17,   119,
                                  120,  121,  128,  240,  241,  1000,  4079, 4080, 4081,
                                  4096, 7168, 8159, 8160, 8161, 12240, 19999};
    int provided;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 1;
    check_open("eager", SYMBOLS);
    sizes();
    routes(argc > 2 ? atoi(argv[2]) : -1, argc > 3 ? atoi(argv[3]) : -1);
    carried = argc > 3 && atoi(argv[3]) == SHMEMX_EAGER_NOTIFY;
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
        const bool counted = tiles[t] == SHMEMX_EAGER_NOTIFY;
        const bool whole = counted || tiles[t] == SHMEMX_EAGER_NONE;
        if (counted ? !counts : tiles[t] > kept)
            continue;
        const size_t more = whole ? 0 : little;
        for (size_t i = 0; i < sizeof some / sizeof *some; i++)
            if (some[i] > more)
                tokens(some[i], tiles[t]);
            else
                refused(some[i], tiles[t]);
        empty(500 + more, tiles[t]);
        reuse(7168, tiles[t], epochs);
        reuse(90 + more, tiles[t], epochs);
        nonblocking(7168, tiles[t]);
        nonblocking(60 + more, tiles[t]);
        threaded(5000, tiles[t], 1 + epochs / 30);
        if (kept != SHMEMX_EAGER_NONE && !counted) { /* the CPU reaches the slots */
            parts(tiles[t]);
            wrap(300 + more, tiles[t]);
        }
    }
    int failed = check_close(); /* finalizes once; init was called twice */
    shmem_finalize();
    return failed;
}
