/*
 * ibgda_device.cuh: the functions that kernels of mixture-of-experts programs like DeepEP V1 call,
 * over public calls. Replace the header of this name in such a program by it.
 *
 * Such kernels rely on order: a PE sees an addition on a queue after the bytes of all puts that
 * threads of any block started on that queue before it, without a fence. InfiniBand's queues keep
 * that order. Other networks do not (EFA), and libshmem promises none between two calls. So the
 * addition here includes a fence, in its queue only:
 *
 *   - A queue is a ring (shmemx_queue). Threads push operations into it in one sequence.
 *   - The fence is a slot of the ring, 16 bytes, and no thread waits for it. The proxy begins a new
 *     epoch when it reaches the slot.
 *   - Behind the fence the addition leaves at once. Where the network keeps no order, the message
 *     of the addition says how many writes must arrive first, and the target waits for those.
 *
 * The fence costs one slot more than the addition alone, and no round trip. nvshmem_fence would be
 * correct, too, but the thread would wait until the proxy has reached it in all rings, which takes
 * some us. A put with signal orders the signal only behind its own bytes, not behind those of other
 * warps, and its signals have 8 bytes where these kernels count in 4.
 * docs/decisions/0046 has the figures.
 */
#ifndef EXAMPLES_DEEPEP_IBGDA_DEVICE_CUH
#define EXAMPLES_DEEPEP_IBGDA_DEVICE_CUH

/* DeepEP's kernels include only the file that this one replaces, and get these three headers of
 * DeepEP by it. */
#if __has_include("configs.cuh") && __has_include("exception.cuh") && __has_include("utils.cuh")
// clang-format off: the first is the base of the others
#include "configs.cuh"
#include "exception.cuh"
#include "utils.cuh"
// clang-format on
#endif

#include <nvshmem.h>
#include <nvshmemx.h>

#include <shmem/shmem.cuh>

/*
 * The number of queues to each PE, for kernels that ask. Queue q is ring q % SHMEM_RING_COUNT;
 * NVSHMEM_IBGDA_NUM_RC_PER_PE sets SHMEM_RING_COUNT. Queues that share a ring are ordered as one.
 */
#ifndef IBGDA_QUEUES
#define IBGDA_QUEUES 256
#endif

struct nvshmemi_ibgda_device_state_t {
    uint32_t num_rc_per_pe;           /* queues to each PE */
    uint32_t num_devices_initialized; /* NICs, in NVSHMEM; 1, since the proxy chooses the NIC */
};
static __constant__ const nvshmemi_ibgda_device_state_t ibgda_state = {IBGDA_QUEUES, 1};

static __device__ __forceinline__ const nvshmemi_ibgda_device_state_t *ibgda_get_state()
{
    return &ibgda_state;
}

/* NVSHMEM's device state, as far as such kernels read it: where the heaps of this PE and of the
 * others are for loads and stores, 0 for a PE that loads and stores do not reach. */
struct ibgda_heaps_t {
    void *heap_base, **peer_heap_base_p2p;
};
static __device__ __forceinline__ ibgda_heaps_t ibgda_heaps()
{
    int me = nvshmem_my_pe(); /* stops a kernel that runs before init */
    uint64_t *heaps = const_cast<uint64_t *>(shmemx_heaps());
    return {reinterpret_cast<void *>(heaps[me]), reinterpret_cast<void **>(heaps)};
}
#define nvshmemi_device_state_d (ibgda_heaps())

/*
 * Where loads and stores find dst_rank's copy of the symmetric address ptr, or 0. nvshmem_ptr
 * computes it from constants; nvshmemi_device_state_d would load it from a table in GPU memory.
 */
static __device__ __forceinline__ uint64_t nvshmemi_get_p2p_ptr(const uint64_t &ptr,
                                                                const int &rank,
                                                                const int &dst_rank)
{
    return rank == dst_rank ? ptr
                            : reinterpret_cast<uint64_t>(
                                  nvshmem_ptr(reinterpret_cast<const void *>(ptr), dst_rank));
}

/*
 * The puts and additions below are not inlined. Inlined, they made DeepEP's kernels, which have 64
 * registers a thread, spill registers to memory, also where the kernels use NVLink and call none of
 * them: the three forms of its dispatch kernel spilled 64 to 72 bytes, and the two of its combine
 * kernel 32 and 72. As functions, dispatch spills 28 at most and combine none; with NVSHMEM it is
 * 32 at most and none (nvcc 13.0, sm_90).
 */

/*
 * A put by the lanes of a warp together. req_rptr is symmetric; the data at req_lptr must stay
 * until a quiet of the queue. kAlwaysDoPostSend and message_idx say in NVSHMEM when to ring the
 * NIC's doorbell; here the proxy posts every operation that it finds, and they have no effect.
 */
template <bool kAlwaysDoPostSend = false>
static __device__ __noinline__ void
nvshmemi_ibgda_put_nbi_warp(uint64_t req_rptr, uint64_t req_lptr, size_t bytes, int dst_pe,
                            int qp_id, int lane_id, int message_idx)
{
    (void)lane_id, (void)message_idx;
    shmemx_putmem_nbi_warp(shmemx_queue(qp_id), reinterpret_cast<void *>(req_rptr),
                           reinterpret_cast<const void *>(req_lptr), bytes, dst_pe);
}

/*
 * Adds value to the int at rptr on pe, after the queue's earlier operations. By one thread.
 * is_local_copy, which says that pe is this PE, is not needed: the library itself uses loads and
 * stores where they reach a PE.
 */
static __device__ __noinline__ void nvshmemi_ibgda_amo_nonfetch_add(void *rptr, const int &value,
                                                                    int pe, int qp_id,
                                                                    bool is_local_copy = false)
{
    (void)is_local_copy;
    shmem_context queue = shmemx_queue(qp_id);
#ifndef IBGDA_WITHOUT_ORDER /* for a test, which must notice its absence */
    shmem_fence(queue);
#endif
    shmem_int_atomic_add(queue, static_cast<int *>(rptr), value, pe);
}

/*
 * Puts value to rptr on dst_pe, by one thread, after the queue's earlier operations: kernels set
 * flags with it, and rely on InfiniBand's queues, where no write overtakes an earlier one. imm, the
 * immediate data, is ignored.
 */
static __device__ __noinline__ void nvshmemi_ibgda_rma_p(int *rptr, const int value, int dst_pe,
                                                         int qp_id, uint32_t imm = UINT32_MAX)
{
    (void)imm;
    shmem_context queue = shmemx_queue(qp_id);
    shmem_fence(queue);
    shmem_int_p(queue, rptr, value, dst_pe);
}

/* Waits until the queue's earlier operations are complete, those for other PEs than dst_pe, too. */
static __device__ __forceinline__ void nvshmemi_ibgda_quiet(int dst_pe, int qp_id)
{
    (void)dst_pe;
    shmem_quiet(shmemx_queue(qp_id));
}

#endif
