/*
 * eager.cu: eager transfers of kernels. Each name is called, in every tile that the routes keep,
 * for tokens of many sizes over slots that are used again, and each byte is compared.
 *
 * shmemrun -n 2 eager [ROUNDS]
 *
 * ROUNDS: on a GPU also blocks that run at once, one of which sends and one takes: whether data and
 * signals keep their order in so many rounds, within a PE and to the next PE; and with one PE how
 * long a token takes from one block to the other.
 */
#include "try.h"

#ifndef EMULATED
#include <shmem/eager.cuh>

#include <algorithm>
#endif

namespace kernels
{

constexpr uint32_t SLOTS = 3, LARGEST = 9000, TOKEN = 7168;
constexpr int GUARD = 16;
const int tiles[] = {SHMEMX_EAGER_NONE, SHMEMX_EAGER_PACKET, SHMEMX_EAGER_LINE, SHMEMX_EAGER_BLOCK};

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

template <int SCOPE> ANSWER ready(const shmemx_eager_t *e, uint32_t slot, uint32_t epoch)
{
    return SCOPE == thread ? (shmemx_eager_ready)(e, slot, epoch)
           : SCOPE == warp ? (shmemx_eager_ready_warp)(e, slot, epoch)
                           : (shmemx_eager_ready_block)(e, slot, epoch);
}

/* Sends a token to each slot of a PE, and takes those that come here, the last slot first. */
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

KERNEL ask(size_t nbytes, int tile, int pe, const char *box, size_t *size, int *kept)
{
    *size = (shmemx_eager_size)(nbytes, tile);
    kept[0] = (shmemx_eager_tile)(pe);
    kept[1] = (shmem_ptr)(box, pe) != NULL;
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

template <int SCOPE> void try_scope(int kept)
{
    const uint32_t sizes[] = {1, 5, 16, 120, 121, 1000, 4080, 4081, TOKEN, 8999};
    for (int tile : tiles)
        if (tile <= kept)
            for (uint32_t nbytes : sizes) {
                try_tokens<SCOPE>(tile, nbytes, 0);
                try_tokens<SCOPE>(tile, nbytes, 3);
            }
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
    expect(kept[0] == (kept[1] ? SHMEMX_EAGER_BLOCK : SHMEMX_EAGER_NONE), "the tile in a kernel");
    shmemx_eager_t e;
    if ((::shmemx_eager_create)(100, 1, SHMEMX_EAGER_BEST, &e) != 0)
        return SHMEMX_EAGER_NONE;
    const int best = (int)e.tile;
    expect(kept[1] || best == SHMEMX_EAGER_NONE, "the best tile");
    (::shmemx_eager_destroy)(&e);
    return best;
}

#ifndef EMULATED
/* ------------------------------------------------------- blocks that run at once */

constexpr unsigned BLOCK = 256;
constexpr uint32_t AHEAD = 8; /* slots: tokens that may be under way */

__device__ uint64_t word_of(uint32_t round, uint32_t i)
{
    return (uint64_t)round << 32 | (i * 2654435761u + round);
}

/*
 * Block 0 sends tokens to a PE, and block 1 takes those that come here and looks at every word. A
 * token is sent to a slot when its last one was taken.
 */
template <int SCOPE>
KERNEL stress(shmemx_eager_t e, uint64_t *from, uint64_t *to, uint64_t *taken, uint32_t rounds,
              int right, int left, unsigned *bad)
{
    const uint32_t words = e.nbytes / 8;
    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t slot = round % AHEAD, epoch = round / AHEAD + 1;
        if (blockIdx.x == 0) {
            for (uint32_t i = threadIdx.x; i < words; i += blockDim.x)
                from[i] = word_of(round, i);
            if (threadIdx.x == 0 && round >= AHEAD)
                shmem_uint64_wait_until(taken, SHMEM_CMP_GE, round - AHEAD + 1);
            __syncthreads();
            send<SCOPE>(&e, slot, from, epoch, right);
        } else {
            recv<SCOPE>(&e, slot, to, epoch);
            __syncthreads();
            for (uint32_t i = threadIdx.x; i < words; i += blockDim.x)
                if (to[i] != word_of(round, i))
                    atomicAdd(bad, 1u);
            if (threadIdx.x == 0)
                shmem_uint64_p(taken, round + 1, left);
        }
        __syncthreads();
    }
}

/*
 * Lines whose 8 words are stored by 8 lanes of a warp in one instruction, without a fence: whether
 * a reader that finds the signal finds the data. Nothing relies on it; the count is reported.
 */
KERNEL lines(uint64_t *line, uint32_t rounds, uint64_t *taken, unsigned *torn)
{
    const uint32_t lane = threadIdx.x;
    for (uint32_t round = 1; round <= rounds; round++) {
        if (blockIdx.x == 0) {
            if (lane == 0)
                shmem_uint64_wait_until(taken, SHMEM_CMP_GE, round - 1);
            __syncwarp();
            if (lane < 8)
                asm volatile("st.v2.u64 [%0], {%1, %2};" ::"l"(line + 2 * lane),
                             "l"((uint64_t)round), "l"((uint64_t)round)
                             : "memory");
        } else {
            if (lane == 0)
                shmem_uint64_wait_until(line + 15, SHMEM_CMP_EQ, round);
            __syncwarp();
            if (lane < 15 && *(volatile uint64_t *)(line + lane) != round)
                atomicAdd(torn, 1u);
            __syncwarp();
            if (lane == 0)
                shmem_uint64_p(taken, round, shmem_my_pe());
        }
        __syncwarp();
    }
}

enum way { by_eager, by_fence };

/* Two blocks that pass one token back and forth; block 0 begins. */
template <int SCOPE>
KERNEL bounce(shmemx_eager_t e, int way, char *from, char *to, uint64_t *flags, uint32_t rounds,
              int self)
{
    const uint32_t here = blockIdx.x, there = 1 - here;
    char *place = (char *)e.slots + (size_t)there * e.stride;
    for (uint32_t round = 1; round <= rounds; round++)
        for (uint32_t turn = 0; turn < 2; turn++)
            if (turn == here && way == by_eager) {
                send<SCOPE>(&e, there, from, round, self);
            } else if (turn == here) {
                if (SCOPE == warp)
                    shmemx_putmem_nbi_warp(place, from, e.nbytes, self);
                else
                    shmemx_putmem_nbi_block(place, from, e.nbytes, self);
                __syncthreads();
                if (threadIdx.x == 0) {
                    shmem_fence();
                    shmemx_signal_op(flags + 16 * there, round, SHMEM_SIGNAL_SET, self);
                }
            } else if (way == by_eager) {
                recv<SCOPE>(&e, here, to + (size_t)here * LARGEST / 16 * 16, round);
            } else {
                if (threadIdx.x == 0)
                    shmem_signal_wait_until(flags + 16 * here, SHMEM_CMP_GE, round);
                __syncthreads();
                if (SCOPE == warp)
                    shmemx_getmem_warp(to + (size_t)here * LARGEST / 16 * 16,
                                       (char *)e.slots + (size_t)here * e.stride, e.nbytes, self);
                else
                    shmemx_getmem_block(to + (size_t)here * LARGEST / 16 * 16,
                                        (char *)e.slots + (size_t)here * e.stride, e.nbytes, self);
            }
}

uint64_t *words; /* symmetric */

void clear_words()
{
    const std::vector<char> none(1024, 0);
    copy_memory(words, none.data(), none.size());
    shmem_barrier_all();
}

template <int SCOPE> void try_stress(int tile, uint32_t nbytes, uint32_t rounds)
{
    shmemx_eager_t e;
    unsigned bad = 0, *count = (unsigned *)(void *)seen;
    if (shmemx_eager_create(nbytes, AHEAD, tile, &e) != 0) {
        expect(false, "create for blocks");
        return;
    }
    clear_words();
    copy_memory(count, &bad, sizeof bad);
    stress<SCOPE><<<2, SCOPE == warp ? 32 : BLOCK>>>(e, (uint64_t *)(void *)source,
                                                     (uint64_t *)(void *)dest, words, rounds,
                                                     next_pe, last_pe, count);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    copy_memory(&bad, count, sizeof bad);
    expect(bad == 0, "tile " + std::to_string(tile) + ", " + std::to_string(nbytes) +
                         " bytes, blocks at once: " + std::to_string(bad) + " old words");
    shmem_barrier_all();
    shmemx_eager_destroy(&e);
}

template <int SCOPE> double time_of(const shmemx_eager_t &e, int way, uint32_t rounds)
{
    cudaEvent_t begin, end;
    float ms = 0;
    clear_words();
    CHECK(cudaMemset(e.slots, 0, (size_t)e.count * e.stride));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    bounce<SCOPE><<<2, SCOPE == warp ? 32 : BLOCK>>>(e, way, source, dest, words, rounds, me);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    return 1000.0 * ms / rounds / 2;
}

template <int SCOPE> void latency(uint32_t nbytes, uint32_t rounds)
{
    printf("eager: %u bytes by a %s, us:", nbytes, SCOPE == warp ? "warp" : "block of 256");
    for (int tile : tiles) {
        shmemx_eager_t e;
        if (shmemx_eager_create(nbytes, 2, tile, &e) != 0) {
            expect(false, "create for latency");
            return;
        }
        double best = 1e9, fence = 1e9;
        for (int i = 0; i < 3; i++) {
            best = std::min(best, time_of<SCOPE>(e, by_eager, rounds));
            if (tile == SHMEMX_EAGER_NONE)
                fence = std::min(fence, time_of<SCOPE>(e, by_fence, rounds));
        }
        if (tile == SHMEMX_EAGER_NONE)
            printf(" put, fence, signal %.2f; put with signal %.2f", fence, best);
        else
            printf("; tile %d %.2f", tile, best);
        shmemx_eager_destroy(&e);
    }
    printf("\n");
}

void blocks(int kept, uint32_t rounds)
{
    words = (uint64_t *)shmem_calloc(1, 1024);
    for (int tile : tiles)
        for (uint32_t nbytes : {64, 2000, 7168})
            if (tile <= kept) {
                try_stress<warp>(tile, nbytes, rounds);
                try_stress<block>(tile, nbytes, rounds);
            }
    if (pes > 1)
        return;
    unsigned torn = 0, *count = (unsigned *)(void *)seen;
    clear_words();
    copy_memory(count, &torn, sizeof torn);
    lines<<<2, 32>>>(words + 16, rounds, words, count);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    copy_memory(&torn, count, sizeof torn);
    printf("eager: lines of 128 bytes without a fence: %u old words in %u rounds\n", torn, rounds);
    for (uint32_t nbytes : {128, 1024, 7168}) {
        latency<warp>(nbytes, 2000);
        latency<block>(nbytes, 2000);
    }
}
#endif

void run(uint32_t rounds)
{
    box = (char *)shmem_malloc(64);
    source = own_memory(SLOTS * (LARGEST + 64));
    dest = own_memory(SLOTS * (LARGEST + 64));
    seen = (int *)(void *)own_memory(64);
    size = (size_t *)(void *)own_memory(64);
    const int kept = routes();
    try_scope<thread>(kept);
    try_scope<warp>(kept);
    try_scope<block>(kept);
#define CALLED(name, T, bytes, scope) called(#name);
    TEST_eager_send_x(CALLED) TEST_eager_ready_x(CALLED) TEST_eager_wait_x(CALLED)
        TEST_eager_recv_x(CALLED) TEST_eager_size_x(CALLED) TEST_eager_tile_x(CALLED)
#ifndef EMULATED
            if (rounds > 0) blocks(kept, rounds);
#else
            (void) rounds;
#endif
}

} // namespace kernels

int main(int argc, char **argv)
{
    begin("eager");
    kernels::run(argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0);
    return end();
}
