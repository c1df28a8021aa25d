/*
 * eager.cu: eager transfers of kernels. Each name is called, in every tile that the routes keep,
 * for tokens of many sizes over slots that are used again, and each byte is compared. Tokens with a
 * notification and with a signal pass between kernels and hosts, too.
 *
 * shmemrun -n 2 eager [counted | few]     all of it, or tokens with a notification alone, or every
 *                                         third size
 * shmemrun -n 2 eager kept TILE [LARGE]   tokens in tiles alone, by blocks: networks keep
 *                                         one between GPUs, and for 2 MiB another one
 * shmemrun -n 2 eager kept-all TILE       the same by all scopes
 * shmemrun -n 2 eager time [ROUNDS]       microseconds of a token without a tile
 * shmemrun -n 1 eager refused CASE
 */
#include "try.h"

#include <algorithm>
#include <chrono>

#ifndef EMULATED
#include <shmem/eager.cuh>
#endif

namespace kernels
{

constexpr uint32_t SLOTS = 3, LARGEST = 9000, CROWD = 40;
constexpr int GUARD = 16;
const int tiles[] = {SHMEMX_EAGER_NONE, SHMEMX_EAGER_NOTIFY, SHMEMX_EAGER_PACKET, SHMEMX_EAGER_LINE,
                     SHMEMX_EAGER_BLOCK};

bool counted; /* only tokens with a notification are tried */
bool few;     /* every third size is tried */
bool all_scopes = true;
/* The tiles that networks keep between GPUs, and for slots that lie in several parts of the heap.
 */
int net_tile = SHMEMX_EAGER_NONE, net_tile_large = SHMEMX_EAGER_NONE;

/* The sizes that are tried, of all of a list. */
std::vector<uint32_t> tried(const std::vector<uint32_t> &all)
{
    std::vector<uint32_t> some;
    for (size_t i = 0; i < all.size(); i += few ? 3 : 1)
        some.push_back(all[i]);
    return some;
}

/* Reports whether slots can have a tile: those without one need nothing of a route. */
bool serves(int tile, int kept)
{
    if (counted || net_tile != SHMEMX_EAGER_NONE)
        return counted ? tile == SHMEMX_EAGER_NOTIFY : tile >= SHMEMX_EAGER_PACKET && tile <= kept;
    return tile < SHMEMX_EAGER_PACKET || tile <= kept;
}

enum ids {
#define ID(name, T, bytes, scope) id_##name,
    TEST_eager_send_x(ID) TEST_eager_ready_x(ID) TEST_eager_wait_x(ID) TEST_eager_recv_x(ID)
};

/* Calls of a scope, by its number. */
#define CALL_OF(name)                                                                              \
    template <int SCOPE, class... A> STEP name(A... arguments)                                     \
    {                                                                                              \
        if (SCOPE == thread)                                                                       \
            (shmemx_eager_##name)(arguments...);                                                   \
        else if (SCOPE == warp)                                                                    \
            (shmemx_eager_##name##_warp)(arguments...);                                            \
        else                                                                                       \
            (shmemx_eager_##name##_block)(arguments...);                                           \
    }
CALL_OF(send)
CALL_OF(wait)
CALL_OF(recv)
CALL_OF(signal)

template <int SCOPE> ANSWER ready(const shmemx_eager_t *e, uint32_t slot, uint32_t epoch)
{
    return SCOPE == thread ? (shmemx_eager_ready)(e, slot, epoch)
           : SCOPE == warp ? (shmemx_eager_ready_warp)(e, slot, epoch)
                           : (shmemx_eager_ready_block)(e, slot, epoch);
}

/* Sends a token to each slot of a PE, and takes the tokens that come here, last slot first. */
template <int SCOPE>
KERNEL pass(shmemx_eager_t e, const char *source, char *dest, uint32_t room, uint32_t epoch, int pe)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        send<SCOPE>(&e, slot, source + slot * room, epoch, pe);
    for (uint32_t slot = SLOTS; slot-- > 0;) {
        if (slot == 0)
            wait<SCOPE>(&e, slot, epoch);
        while (slot == 1 && !ready<SCOPE>(&e, slot, epoch))
            ;
        recv<SCOPE>(&e, slot, dest + slot * room, epoch);
    }
}

/* Looks once at each slot. */
template <int SCOPE> KERNEL look(shmemx_eager_t e, uint32_t epoch, int *seen)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        int there = ready<SCOPE>(&e, slot, epoch);
        if (threadIdx.x == 0)
            seen[slot] = there;
    }
}

/* Words by the threads of a scope: stored to a PE with their signals, and loaded from those here.
 */
template <int SCOPE, class T>
KERNEL words(shmemx_eager_t e, const T *source, T *dest, uint32_t epoch, int pe)
{
    for (uint32_t i = threadIdx.x; i < e.nbytes / sizeof(T); i += blockDim.x)
        shmemx_eager_store<T>(&e, 1, i * (uint32_t)sizeof(T), source[i], epoch, pe);
    signal<SCOPE>(&e, 1, epoch, pe);
    wait<SCOPE>(&e, 1, epoch);
    for (uint32_t i = threadIdx.x; i < e.nbytes / sizeof(T); i += blockDim.x)
        dest[i] = shmemx_eager_load<T>(&e, 1, i * (uint32_t)sizeof(T));
}

/* A token in shared memory. */
#ifdef EMULATED
#define SHARED static
#else
#define SHARED __shared__
#endif
KERNEL staged(shmemx_eager_t e, const char *source, char *dest, uint32_t shift, uint32_t epoch,
              int pe)
{
    alignas(16) SHARED uint64_t place[LARGEST / 16 * 2 + 4];
    char *token = (char *)place + shift;
    for (uint32_t i = threadIdx.x; i < e.nbytes; i += blockDim.x)
        token[i] = source[i];
    (shmemx_eager_send_shared_block)(&e, 2, token, epoch, pe);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < e.nbytes; i += blockDim.x)
        token[i] = 0;
    __syncthreads();
    (shmemx_eager_recv_shared_block)(&e, 2, token, epoch);
    for (uint32_t i = threadIdx.x; i < e.nbytes; i += blockDim.x)
        dest[i] = token[i];
}

/* A token in a buffer to what its slot has, and back. */
template <int SCOPE>
KERNEL change(char *buffer, char *wrapped, uint32_t nbytes, int tile, uint32_t epoch)
{
    if (SCOPE == warp)
        (shmemx_eager_wrap_warp)(buffer, nbytes, tile, epoch);
    else
        (shmemx_eager_wrap_block)(buffer, nbytes, tile, epoch);
    for (uint32_t i = threadIdx.x; i < shmemi_eager_bytes(nbytes, (uint32_t)tile); i += blockDim.x)
        wrapped[i] = buffer[i];
    if (SCOPE == warp)
        (shmemx_eager_unwrap_warp)(buffer, nbytes, tile);
    else
        (shmemx_eager_unwrap_block)(buffer, nbytes, tile);
}

KERNEL ask(size_t nbytes, int tile, int pe, const char *box, size_t *size, int *kept)
{
    *size = (shmemx_eager_size)(nbytes, tile);
    kept[0] = (shmemx_eager_tile)(pe);
    kept[1] = (shmem_ptr)(box, pe) != NULL;
}

KERNEL send_one(shmemx_eager_t e, const char *source, uint32_t epoch, int pe)
{
    (shmemx_eager_send_block)(&e, 0, source, epoch, pe);
}

KERNEL recv_one(shmemx_eager_t e, char *dest, uint32_t epoch)
{
    (shmemx_eager_recv_block)(&e, 0, dest, epoch);
}

/* Each thread has a slot of its own, and all send at once: more than there are buffers. */
KERNEL crowd(shmemx_eager_t e, const char *source, char *dest, uint32_t epoch, int pe)
{
    const uint32_t i = threadIdx.x;
    (shmemx_eager_send)(&e, i, source + i * e.nbytes, epoch, pe);
    (shmemx_eager_recv)(&e, i, dest + i * e.nbytes, epoch);
}

/* Tokens to and fro, one at a time. */
KERNEL rally(shmemx_eager_t e, const char *source, char *dest, uint32_t first, uint32_t rounds,
             int pe, int serving)
{
    for (uint32_t epoch = first; epoch < first + rounds; epoch++) {
        if (serving)
            (shmemx_eager_send_block)(&e, 0, source, epoch, pe);
        (shmemx_eager_recv_block)(&e, 0, dest, epoch);
        if (!serving)
            (shmemx_eager_send_block)(&e, 0, source, epoch, pe);
    }
}

char *box, *source, *dest;
int *seen;
size_t *size;

template <int SCOPE> void try_tokens(int tile, uint32_t nbytes, uint32_t shift)
{
    shmemx_eager_t e;
    const std::string what = "tile " + std::to_string(tile) + ", " + std::to_string(nbytes) +
                             " bytes by a " +
                             (SCOPE == thread ? "thread"
                              : SCOPE == warp ? "warp"
                                              : "block");
    if ((::shmemx_eager_create)(nbytes, SLOTS, tile, &e) != 0) {
        expect(false, what + ": create");
        return;
    }
    const uint32_t room = (nbytes + shift + 2 * GUARD) / 16 * 16 + 16;
    std::vector<unsigned char> sent(SLOTS * room), came(SLOTS * room), none(SLOTS * room, 0xa5);
    for (uint32_t epoch = 1; epoch <= 3; epoch++) {
        int before[SLOTS];
        LAUNCH(threads_of(SCOPE), look<SCOPE>, e, epoch, seen);
        copy_memory(before, seen, sizeof before);
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            expect(before[slot] == 0, what + ": there before it was sent");
            for (uint32_t i = 0; i < nbytes; i++)
                sent[slot * room + GUARD + shift + i] = pattern(me, (int)(slot * 5 + epoch), i);
        }
        copy_memory(source, sent.data(), sent.size());
        copy_memory(dest, none.data(), none.size());
        shmem_barrier_all();
        LAUNCH(threads_of(SCOPE), pass<SCOPE>, e, source + GUARD + shift, dest + GUARD + shift,
               room, epoch, next_pe);
        copy_memory(came.data(), dest, came.size());
        uint32_t bad = 0;
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            for (uint32_t i = 0; i < room; i++) {
                const uint32_t at = i - GUARD - shift; /* wraps before the token */
                bad += came[slot * room + i] !=
                       (at < nbytes ? pattern(last_pe, (int)(slot * 5 + epoch), at) : 0xa5);
            }
        expect(bad == 0, what + ", epoch " + std::to_string(epoch) + ": " + std::to_string(bad) +
                             " wrong bytes");
        shmem_barrier_all();
    }
    (::shmemx_eager_destroy)(&e);
}

/* One way to send a token to the next PE: for each tile and epoch, all bytes are compared. */
template <class SEND>
void try_parts(int kept, uint32_t nbytes, const std::string &how, SEND send_by)
{
    for (int tile : tiles) {
        shmemx_eager_t e;
        if (!serves(tile, kept) || (::shmemx_eager_create)(nbytes, SLOTS, tile, &e) != 0)
            continue;
        for (uint32_t epoch = 1; epoch <= 3; epoch++) {
            std::vector<unsigned char> sent(nbytes), came(nbytes);
            uint32_t bad = 0;
            for (uint32_t i = 0; i < nbytes; i++)
                sent[i] = pattern(me, (int)epoch, i);
            copy_memory(source, sent.data(), nbytes);
            shmem_barrier_all();
            send_by(e, epoch);
            copy_memory(came.data(), dest, nbytes);
            for (uint32_t i = 0; i < nbytes; i++)
                bad += came[i] != pattern(last_pe, (int)epoch, i);
            expect(bad == 0, how + ", tile " + std::to_string(tile) + ", " +
                                 std::to_string(nbytes) + " bytes: " + std::to_string(bad) +
                                 " wrong");
            shmem_barrier_all();
        }
        (::shmemx_eager_destroy)(&e);
    }
}

template <int SCOPE, class T> void try_words(int kept)
{
    for (uint32_t nbytes : tried({8, 120, 128, 4080, 4088, 7168}))
        try_parts(kept, nbytes, "words", [](const shmemx_eager_t &e, uint32_t epoch) {
            auto kernel = words<SCOPE, T>;
            LAUNCH(threads_of(SCOPE), kernel, e, (const T *)(const void *)source, (T *)(void *)dest,
                   epoch, next_pe);
        });
}

/* The slot that a token has by the layout. */
template <int SCOPE> void try_change()
{
    for (int tile : tiles)
        for (uint32_t nbytes : {1, 4, 7, 120, 123, 4080, 4083, 7168, 8999}) {
            const uint32_t bytes = shmemi_eager_bytes(nbytes, (uint32_t)tile);
            std::vector<unsigned char> token(nbytes), slot(bytes), back(nbytes);
            for (uint32_t i = 0; i < nbytes; i++)
                token[i] = pattern(me, tile, i);
            copy_memory(dest, token.data(), nbytes);
            LAUNCH(threads_of(SCOPE), change<SCOPE>, dest, source, nbytes, tile, 9);
            copy_memory(slot.data(), source, bytes);
            copy_memory(back.data(), dest, nbytes);
            uint32_t bad = 0;
            for (uint32_t i = 0; i < nbytes; i++)
                bad += slot[shmemi_eager_data_at(i, nbytes, (uint32_t)tile)] != token[i];
            for (uint32_t k = 0; k < shmemi_eager_tiles(nbytes, (uint32_t)tile); k++) {
                uint64_t want = shmemi_eager_signal(nbytes, 9);
                bad += memcmp(&slot[shmemi_eager_signal_at(k, nbytes, (uint32_t)tile)], &want,
                              tile == SHMEMX_EAGER_PACKET ? 4 : 8) != 0;
            }
            expect(bad == 0 && back == token,
                   "tile " + std::to_string(tile) + ", " + std::to_string(nbytes) +
                       " bytes, changed in place: " + std::to_string(bad) + " wrong");
        }
}

template <int SCOPE> void try_scope(int kept)
{
    try_words<SCOPE, uint32_t>(kept);
    try_words<SCOPE, double>(kept);
    if (SCOPE != thread)
        try_change<SCOPE == thread ? warp : SCOPE>();
    if (SCOPE == block)
        for (uint32_t nbytes : tried({1, 16, 100, 4080, 4081, 7168, 8999}))
            for (uint32_t shift : {0, 8}) /* bulk copies, and others */
                try_parts(kept, nbytes, "shared", [=](const shmemx_eager_t &e, uint32_t epoch) {
                    LAUNCH(threads_of(block), staged, e, source, dest, shift, epoch, next_pe);
                });
    std::vector<uint32_t> sizes = tried({1, 5, 16, 120, 121, 1000, 4080, 4081, 7168, 8999});
    if (counted)
        sizes = {5, 4081};
    for (int tile : tiles)
        if (serves(tile, kept))
            for (uint32_t nbytes : sizes) {
                try_tokens<SCOPE>(tile, nbytes, 0);
                try_tokens<SCOPE>(tile, nbytes, 3);
            }
}

/* Compares what came in dest with tokens of the PE before this one. */
void compare(uint32_t n, uint32_t nbytes, uint32_t epoch, const std::string &what)
{
    std::vector<unsigned char> came(n * nbytes);
    uint32_t bad = 0;
    copy_memory(came.data(), dest, came.size());
    for (uint32_t i = 0; i < came.size(); i++)
        bad += came[i] != pattern(last_pe, (int)epoch, i);
    expect(bad == 0,
           what + ", epoch " + std::to_string(epoch) + ": " + std::to_string(bad) + " wrong bytes");
}

void fill(uint32_t n, uint32_t nbytes, uint32_t epoch)
{
    std::vector<unsigned char> sent(n * nbytes), none(n * nbytes, 0xa5);
    for (uint32_t i = 0; i < sent.size(); i++)
        sent[i] = pattern(me, (int)epoch, i);
    copy_memory(source, sent.data(), sent.size());
    copy_memory(dest, none.data(), none.size());
}

void try_crowd(int tile, uint32_t nbytes)
{
    shmemx_eager_t e;
    if ((::shmemx_eager_create)(nbytes, CROWD, tile, &e) != 0) {
        expect(false, "slots for a crowd");
        return;
    }
    for (uint32_t epoch = 1; epoch <= 5; epoch++) {
        fill(CROWD, nbytes, epoch);
        shmem_barrier_all();
        LAUNCH(CROWD, crowd, e, source, dest, epoch, next_pe);
        compare(CROWD, nbytes, epoch,
                "tile " + std::to_string(tile) + ", tokens of many threads at once");
        shmem_barrier_all();
    }
    (::shmemx_eager_destroy)(&e);
}

KERNEL one(shmemx_eager_t e, uint32_t slot, const char *source, char *dest, uint32_t epoch, int pe)
{
    (shmemx_eager_send_block)(&e, slot, source, epoch, pe);
    (shmemx_eager_recv_block)(&e, slot, dest, epoch);
}

/* So many tokens of this size take more memory than a part of the heap has, which grows for them.
 */
void try_large()
{
    constexpr uint32_t nbytes = 2 << 20, count = 16;
#ifdef FEWER_TYPES
    constexpr uint32_t step = 5; /* the first and the last slot, and two between them */
#else
    constexpr uint32_t step = 1;
#endif
    shmemx_eager_t e;
    if ((::shmemx_eager_create)(nbytes, count, SHMEMX_EAGER_BEST, &e) != 0) {
        expect(false, "slots for large tokens");
        return;
    }
    const int best = net_tile_large != SHMEMX_EAGER_NONE ? net_tile_large : SHMEMX_EAGER_NOTIFY;
    expect((int)e.tile == best, "the best tile of a large token: " + std::to_string(e.tile));
    source = own_memory(nbytes);
    dest = own_memory(nbytes);
    for (uint32_t epoch = 1; epoch <= 2; epoch++)
        for (uint32_t slot = 0; slot < count; slot += step) {
            fill(1, nbytes, slot + 100 * epoch);
            shmem_barrier_all();
            LAUNCH(threads_of(block), one, e, slot, source, dest, epoch, next_pe);
            compare(1, nbytes, slot + 100 * epoch, "large tokens");
            shmem_barrier_all();
        }
    (::shmemx_eager_destroy)(&e);
    if (net_tile_large != net_tile)
        expect((::shmemx_eager_create)(nbytes, count, net_tile, &e) == 1,
               "a tile that is not kept");
}

/* Kernels and hosts send and read tokens of one slot, all four pairs of them in turns. */
void try_across(int tile, uint32_t nbytes)
{
    shmemx_eager_t e;
    if ((::shmemx_eager_create)(nbytes, 1, tile, &e) != 0) {
        expect(false, "a slot for kernels and hosts");
        return;
    }
    for (uint32_t epoch = 1; epoch <= 16; epoch++) {
        const bool sends = epoch % 2 == 0, reads = epoch / 2 % 2 == 0; /* the host does */
        /* Where a kernel reads, the host does not look: what it knows of the counter gets old. */
        expect(!reads || (::shmemx_eager_ready)(&e, 0, epoch) == 0, "ready before it was sent");
        fill(1, nbytes, epoch);
        shmem_barrier_all();
        if (sends)
            (::shmemx_eager_send)(&e, 0, source, epoch, next_pe);
        else
            LAUNCH(threads_of(block), send_one, e, source, epoch, next_pe);
        if (reads)
            (::shmemx_eager_recv)(&e, 0, dest, epoch);
        else
            LAUNCH(threads_of(block), recv_one, e, dest, epoch);
        compare(1, nbytes, epoch,
                "tile " + std::to_string(tile) + ", from a " + (sends ? "host" : "kernel") +
                    " to a " + (reads ? "host" : "kernel"));
        shmem_barrier_all();
    }
    (::shmemx_eager_destroy)(&e);
}

/* Figures for docs/decisions/0048: the time of a token, half of that to and fro. */
void measure(uint32_t rounds)
{
    source = own_memory(LARGEST);
    dest = own_memory(LARGEST);
    for (uint32_t nbytes : {256, 1024, 2048, 4040, 4096, 7168})
        for (int tile : {SHMEMX_EAGER_NONE, SHMEMX_EAGER_NOTIFY}) {
            shmemx_eager_t e;
            if ((::shmemx_eager_create)(nbytes, 1, tile, &e) != 0)
                continue;
            double best = 1e9;
            for (uint32_t part = 0; part < 5; part++) {
                shmem_barrier_all();
                auto begin = std::chrono::steady_clock::now();
                LAUNCH(threads_of(block), rally, e, source, dest, 1 + part * rounds, rounds,
                       next_pe, me == 0);
                std::chrono::duration<double, std::micro> took =
                    std::chrono::steady_clock::now() - begin;
                best = std::min(best, took.count() / rounds / 2);
            }
            if (me == 0)
                printf("%u bytes with a %s: %.2f us\n", nbytes,
                       tile == SHMEMX_EAGER_NOTIFY ? "notification" : "signal", best);
            (::shmemx_eager_destroy)(&e);
        }
}

int best_for(size_t nbytes)
{
    shmemx_eager_t e;
    if ((::shmemx_eager_create)(nbytes, 1, SHMEMX_EAGER_BEST, &e) != 0)
        return SHMEMX_EAGER_NONE;
    const int best = (int)e.tile;
    (::shmemx_eager_destroy)(&e);
    return best;
}

/* Reports whether what no stores reach is reached by a ring. Threads of the host that stand for
 * kernels without a GPU use the network themselves, which is tcp: notifications are messages. */
bool rings()
{
#ifdef EMULATED
    return getenv("EMULATED_GPU") != nullptr;
#else
    return true;
#endif
}

/* Returns the largest tile that the routes between all PEs keep. */
int routes()
{
    for (int tile : tiles)
        for (size_t nbytes : {1, 120, 4081, 7168, 100000}) {
            size_t answer;
            LAUNCH(1, ask, nbytes, tile, next_pe, box, size, seen);
            copy_memory(&answer, size, sizeof answer);
            expect(answer == (::shmemx_eager_size)(nbytes, tile), "the size in a kernel");
        }
    int kept[2];
    copy_memory(kept, seen, sizeof kept);
    expect(kept[0] == (kept[1] ? SHMEMX_EAGER_BLOCK : net_tile), "the tile in a kernel");
    const int message = best_for(100), write = best_for(5000);
    expect(kept[1] || message == net_tile, "the best tile of a message");
    expect(kept[1] || write == (net_tile != SHMEMX_EAGER_NONE ? net_tile
                                : rings()                     ? SHMEMX_EAGER_NOTIFY
                                                              : SHMEMX_EAGER_NONE),
           "the best tile of a write");
    return message;
}

void run()
{
    box = (char *)shmem_malloc(64);
    source = own_memory(CROWD * 5000);
    dest = own_memory(CROWD * 5000); /* a token in packets takes twice its bytes */
    seen = (int *)(void *)own_memory(64);
    size = (size_t *)(void *)own_memory(64);
    const int kept = routes();
    if (all_scopes) {
        try_scope<thread>(kept);
        try_scope<warp>(kept);
    }
    try_scope<block>(kept);
    for (int tile : {SHMEMX_EAGER_NONE, SHMEMX_EAGER_NOTIFY, net_tile})
        for (uint32_t nbytes : {24, 5000}) {
            if (!serves(tile, kept))
                continue;
            if (tile < SHMEMX_EAGER_PACKET)
                try_across(tile, nbytes);
            try_crowd(tile, nbytes);
        }
    if (net_tile != SHMEMX_EAGER_NONE)
        try_large();
    if (!all_scopes)
        return;
#define CALLED(name, T, bytes, scope) called(#name);
    TEST_eager_send_x(CALLED) TEST_eager_ready_x(CALLED) TEST_eager_wait_x(CALLED)
        TEST_eager_recv_x(CALLED) TEST_eager_size_x(CALLED) TEST_eager_tile_x(CALLED)
            TEST_eager_signal_x(CALLED) TEST_eager_wrap_x(CALLED) TEST_eager_unwrap_x(CALLED)
                TEST_eager_send_shared_x(CALLED) TEST_eager_recv_shared_x(CALLED)
}

/* Tokens that make no sense, with notifications. */
KERNEL refused(int which, shmemx_eager_t e, const char *source, int self)
{
    shmemx_eager_t other = e;
    switch (which) {
    case 0: /* an epoch is skipped */
        (shmemx_eager_send)(&e, 0, source, 2, self);
        (shmemx_eager_wait)(&e, 0, 1);
        break;
    case 1: /* an epoch is sent twice */
        (shmemx_eager_send)(&e, 0, source, 1, self);
        (shmemx_eager_send)(&e, 0, source, 1, self);
        while (!(shmemx_eager_ready)(&e, 0, 2))
            ;
        break;
    case 2: /* a token is overwritten */
        (shmemx_eager_send)(&e, 0, source, 1, self);
        (shmemx_eager_send)(&e, 0, source, 2, self);
        (shmemx_eager_wait)(&e, 0, 1);
        break;
    case 3: /* a token of another size */
        (shmemx_eager_send)(&e, 1, source, 1, self);
        *(uint64_t *)((char *)e.slots + e.stride +
                      shmemi_eager_signal_at(0, e.nbytes, SHMEMX_EAGER_NOTIFY)) =
            shmemi_eager_signal(92, 1);
        (shmemx_eager_recv)(&e, 1, (char *)e.slots, 1);
        break;
    case 4: /* a token without bytes, or with too many; a tile that does not exist */
        (void)(shmemx_eager_size)(0, SHMEMX_EAGER_LINE);
        break;
    case 5:
        (void)(shmemx_eager_size)((1ul << 30) + 1, SHMEMX_EAGER_LINE);
        break;
    case 6:
        (void)(shmemx_eager_size)(100, 12);
        break;
    default: /* a counter that does not exist */
        other.counter = 4096;
        (shmemx_eager_send)(&other, 0, source, 1, self);
    }
}

} // namespace kernels

int main(int argc, char **argv)
{
    begin("eager");
    if (argc > 2 && strcmp(argv[1], "refused") == 0) {
        shmemx_eager_t e;
        char *source = own_memory(100);
        if ((::shmemx_eager_create)(100, 2, SHMEMX_EAGER_NOTIFY, &e) == 0)
            LAUNCH(1, kernels::refused, atoi(argv[2]), e, source, me);
        return end();
    }
    if (argc > 1 && strcmp(argv[1], "time") == 0) {
        kernels::measure(argc > 2 ? (uint32_t)atoi(argv[2]) : 1000);
        return end();
    }
    kernels::counted = argc > 1 && strcmp(argv[1], "counted") == 0;
    kernels::few = argc > 1 && strcmp(argv[1], "few") == 0;
    if (argc > 2 && strncmp(argv[1], "kept", 4) == 0) {
        kernels::all_scopes = strcmp(argv[1], "kept-all") == 0;
        kernels::net_tile = atoi(argv[2]);
        kernels::net_tile_large = argc > 3 ? atoi(argv[3]) : kernels::net_tile;
    }
    kernels::run();
    return end();
}
