/*
 * eager_litmus.cu: eager transfers between blocks that run at once, one of which sends and one
 * takes: whether data and signals keep their order in many rounds, within a PE and to the next PE;
 * and with one PE how long a token takes from one block to the other.
 *
 * shmemrun -n 1 eager_litmus [ROUNDS]
 */
#include "try.h"

#include <shmem/eager.cuh>

#include <algorithm>

namespace kernels
{

const int tiles[] = {SHMEMX_EAGER_NONE, SHMEMX_EAGER_PACKET, SHMEMX_EAGER_LINE, SHMEMX_EAGER_BLOCK};
constexpr uint32_t ROOM = 8192; /* for a token */

template <int SCOPE>
STEP send(const shmemx_eager_t *e, uint32_t slot, const void *from, uint32_t epoch, int pe)
{
    if (SCOPE == warp)
        shmemx_eager_send_warp(e, slot, from, epoch, pe);
    else
        shmemx_eager_send_block(e, slot, from, epoch, pe);
}

template <int SCOPE> STEP recv(const shmemx_eager_t *e, uint32_t slot, void *to, uint32_t epoch)
{
    if (SCOPE == warp)
        shmemx_eager_recv_warp(e, slot, to, epoch);
    else
        shmemx_eager_recv_block(e, slot, to, epoch);
}

char *source, *dest;
unsigned *count;

constexpr unsigned BLOCK = 256;
constexpr uint32_t AHEAD = 8; /* slots: tokens that may be under way */

__device__ uint64_t word_of(uint32_t round, uint32_t i)
{
    return (uint64_t)round << 32 | (i * 2654435761u + round);
}

/*
 * Block 0 sends tokens to a PE, and block 1 takes those that come here and polls at every word. A
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
                recv<SCOPE>(&e, here, to + (size_t)here * ROOM, round);
            } else {
                if (threadIdx.x == 0)
                    shmem_signal_wait_until(flags + 16 * here, SHMEM_CMP_GE, round);
                __syncthreads();
                if (SCOPE == warp)
                    shmemx_getmem_warp(to + (size_t)here * ROOM,
                                       (char *)e.slots + (size_t)here * e.stride, e.nbytes, self);
                else
                    shmemx_getmem_block(to + (size_t)here * ROOM,
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
    unsigned bad = 0;
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
    printf("eager_litmus: %u bytes by a %s, us:", nbytes, SCOPE == warp ? "warp" : "block of 256");
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

void run(uint32_t rounds)
{
    source = own_memory(2 * ROOM);
    dest = own_memory(2 * ROOM);
    count = (unsigned *)(void *)own_memory(sizeof *count);
    shmemx_eager_t best;
    int kept = SHMEMX_EAGER_NONE;
    if (shmemx_eager_create(100, 1, SHMEMX_EAGER_BEST, &best) == 0) {
        kept = (int)best.tile;
        shmemx_eager_destroy(&best);
    }
    words = (uint64_t *)shmem_align(128, 1024);
    for (int tile : tiles)
        for (uint32_t nbytes : {64, 2000, 7168})
            if (tile <= kept) {
                try_stress<warp>(tile, nbytes, rounds);
                try_stress<block>(tile, nbytes, rounds);
            }
    if (pes > 1)
        return;
    unsigned torn = 0;
    clear_words();
    copy_memory(count, &torn, sizeof torn);
    lines<<<2, 32>>>(words + 16, rounds, words, count);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    copy_memory(&torn, count, sizeof torn);
    printf("eager_litmus: lines of 128 bytes without a fence: %u old words in %u rounds\n", torn,
           rounds);
    for (uint32_t nbytes : {128, 1024, 7168}) {
        latency<warp>(nbytes, 2000);
        latency<block>(nbytes, 2000);
    }
}

} // namespace kernels

int main(int argc, char **argv)
{
    begin("eager_litmus");
    kernels::run(argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 200);
    return end();
}
