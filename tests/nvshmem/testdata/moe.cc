/*
 * moe.cc: the kernels of examples/deepep by threads of the host (tests/device/emulated), through
 * the library's rings and proxies. Each thread is a block of one warp with one lane.
 *
 *   shmemrun -n 2 moe EXPERTS TOKENS ROUNDS
 *
 * IBGDA_WITHOUT_ORDER: with the fence left out, which a network without order shows.
 */
#include "emulated.h"

#include <nvshmem/nvshmem.h>
#include <nvshmem/nvshmemx.h>
#include <shmem/kernels.h>

#include <nvshmem/device/nvshmemi_own.h>

#include <thread>

#define __host__
#define __constant__
#define SHMEM_CUH /* emulated.h replaces it */
#define WARP 1
static thread_local emulated_dim blockIdx = {0, 0, 0}, gridDim = {1, 1, 1};

template <class T> static inline T atomicAdd(T *at, T value)
{
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <class T> static inline T atomicAdd_system(T *at, T value)
{
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
static inline void __threadfence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    sched_yield(); /* the thread that it waits for may have no processor */
}
static inline void __threadfence_system(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

namespace kernels
{
#include <nvshmem/device/nvshmem_coll_defines.cuh>
#include <nvshmem/device/nvshmem_defines.h>
#include <nvshmem/device/nvshmemx_coll_defines.cuh>
#include <nvshmem/device/nvshmemx_defines.h>

static inline int nvshmem_sync(nvshmem_team_t team)
{
    return nvshmem_team_sync(team);
}
#include "moe.cuh"
} // namespace kernels

/* The library's state as kernels read it; returns how much of it is wrong. */
static unsigned addresses(const struct kernels::moe &m)
{
    using namespace kernels;
    char *mine = (char *)m.out;
    const ibgda_heaps_t heaps = nvshmemi_device_state_d;
    unsigned wrong = (uint64_t)(uintptr_t)heaps.heap_base != shmemi_here.job.heap;
    for (int pe = 0; pe < m.n; pe++) {
        char *base = (char *)heaps.peer_heap_base_p2p[pe], *at = (char *)kernels::shmem_ptr(mine, pe);
        wrong += at != (base == nullptr ? nullptr : base + (mine - (char *)heaps.heap_base));
        uint64_t near = nvshmemi_get_p2p_ptr((uint64_t)(uintptr_t)mine, m.me, pe);
        wrong += near != (uint64_t)(uintptr_t)(pe == m.me ? mine : at);
    }
    return wrong;
}

/* A kernel of so many blocks. */
template <class KERNEL> static void launch(uint32_t blocks, KERNEL kernel)
{
    std::vector<std::thread> all;
    for (uint32_t i = 0; i < blocks; i++)
        all.emplace_back([=] {
            blockIdx.x = i;
            gridDim.x = blocks;
            kernel();
        });
    for (std::thread &t : all)
        t.join();
}

int main(int argc, char **argv)
{
    enum { BLOCKS = 4 };
    /* A number: the enumeration would find the host's function. */
    const nvshmem_team_t world = NVSHMEM_TEAM_WORLD;
    shmem_init();
    emulated_begin();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int experts = argc > 1 ? atoi(argv[1]) : 8, tokens = argc > 2 ? atoi(argv[2]) : 256;
    int rounds = argc > 3 ? atoi(argv[3]) : 2;
    struct kernels::moe m = {};
    m.me = me, m.n = n, m.experts = experts, m.local = experts / n;
    m.tokens = tokens, m.top = 2, m.words = 1792, m.capacity = 2 * tokens * 2 / experts + 64;
    size_t slots = (size_t)m.local * n * m.capacity * m.words;
    std::vector<int> expert(2 * tokens), place(2 * tokens), count, sent;
    std::vector<unsigned> result(3);
    m.out = (uint32_t *)shmem_align(128, (size_t)tokens * m.words * 4);
    m.in = (uint32_t *)shmem_align(128, slots * 4);
    m.made = (uint32_t *)shmem_align(128, slots * 4);
    m.back = (uint32_t *)shmem_align(128, (size_t)tokens * 2 * m.words * 4);
    m.arrived = (int *)shmem_align(128, (size_t)m.local * n * 4);
    m.ready = (int *)shmem_align(128, (size_t)experts * 4);
    int *acks = (int *)shmem_align(128, (size_t)n * 4);
    if (acks == nullptr || m.back == nullptr || m.in == nullptr || m.made == nullptr)
        shmem_global_exit(2);
    unsigned wrong = addresses(m), lacking = 0;
    for (int r = 1; r <= rounds; r++) {
        unsigned coming = 0;
        m.round = (uint32_t)(experts * 1000 + r);
        count.assign(experts, 0);
        sent.assign(experts, 0);
        result.assign(3, 0);
        for (int t = 0; t < tokens; t++) {
            for (int k = 0; k < 2; k++) {
                int e = kernels::moe_expert(m, me, t, k);
                expert[2 * t + k] = e;
                place[2 * t + k] = count[e]++;
            }
            for (int i = 0; i < m.words; i++)
                m.out[(size_t)t * m.words + i] = kernels::moe_word(m, me, t, i);
            for (int i = 0; i < 2 * n; i++)
                coming += kernels::moe_expert(m, i / 2, t, i % 2) / m.local == me;
        }
        m.expert = expert.data(), m.place = place.data(), m.count = count.data();
        m.sent = sent.data(), m.result = result.data();
        memset(m.in, 0xff, slots * 4);
        memset(m.back, 0xff, (size_t)tokens * 2 * m.words * 4);
        memset(m.arrived, 0, (size_t)m.local * n * 4);
        memset(m.ready, 0, (size_t)experts * 4);
        shmem_barrier_all();
        launch(BLOCKS, [&] { kernels::moe_dispatch(m); });
        launch(BLOCKS, [&] { kernels::moe_combine(m); });
        launch(1, [&] { kernels::moe_settle(m, acks, world); });
        shmem_barrier_all();
        lacking += result[0] != coming || result[1] != 2 * (unsigned)tokens;
        wrong += result[2];
    }
    printf("PE %d of %d: %d tokens to %d experts, %u words are wrong, %u rounds lack some: %s\n",
           me, n, tokens, experts, wrong, lacking, wrong + lacking == 0 ? "passed" : "failed");
    fflush(stdout);
    shmem_barrier_all();
    shmem_finalize();
    return wrong + lacking != 0;
}
