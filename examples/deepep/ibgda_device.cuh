/*
 * ibgda_device.cuh: what kernels of mixture-of-experts programs of the DeepEP V1 kind call, over
 * public calls. Put it in the place of their header of this name.
 *
 * They count on order: an addition on a queue is seen by its PE after the bytes of all puts that
 * were started on that queue before it, by threads of any block, and no fence is called for.
 * InfiniBand's queues keep that order. Other networks do not (EFA), and libshmem promises none
 * between two calls. So the addition here brings a fence with it, in its queue alone:
 *
 *   - A queue is a ring (shmemx_queue). What threads push into it is one row.
 *   - The fence is a slot of that row, 16 bytes, and nobody waits for it. The proxy begins
 *     an epoch when it meets it.
 *   - Behind it the addition leaves at once. Where the network keeps no order, its message says how
 *     many writes have to be there first, and the target waits for those.
 *
 * That is one slot more than the addition alone, and no round trip. nvshmem_fence is right, too,
 * and waits until the proxy has met it, some us, for all rings. A put with a signal has the
 * same order for its own bytes, not for those of other warps, and its signals have 8 bytes.
 * docs/decisions/0046 has the figures.
 */
#ifndef EXAMPLES_DEEPEP_IBGDA_DEVICE_CUH
#define EXAMPLES_DEEPEP_IBGDA_DEVICE_CUH

#include <nvshmem.h>
#include <nvshmemx.h>

#include <shmem/shmem.cuh>

/*
 * How many queues there are to each PE, for kernels that ask. Numbers name rings: there are
 * SHMEM_RING_COUNT of them, which NVSHMEM_IBGDA_NUM_RC_PER_PE sets, and from there on they
 * repeat. Two queues that share a ring have the order of both.
 */
#ifndef IBGDA_QUEUES
#define IBGDA_QUEUES 256
#endif

struct nvshmemi_ibgda_device_state_t {
    uint32_t num_rc_per_pe;           /* queues to each PE */
    uint32_t num_devices_initialized; /* which a NIC has; the proxy chooses the NIC */
};
static __constant__ const nvshmemi_ibgda_device_state_t ibgda_state = {IBGDA_QUEUES, 1};

static __device__ __forceinline__ const nvshmemi_ibgda_device_state_t *ibgda_get_state()
{
    return &ibgda_state;
}

/* What kernels read of the library's state: where heaps are for loads and stores, 0 where a PE has
 * no address here. */
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

/* Where a PE's copy of a symmetric address is for loads and stores, or 0. */
static __device__ __forceinline__ uint64_t nvshmemi_get_p2p_ptr(const uint64_t &ptr,
                                                                const int &rank,
                                                                const int &dst_rank)
{
    if (rank == dst_rank)
        return ptr;
    const ibgda_heaps_t heaps = nvshmemi_device_state_d;
    uint64_t base = reinterpret_cast<uint64_t>(heaps.peer_heap_base_p2p[dst_rank]);
    return base == 0 ? 0 : base + (ptr - reinterpret_cast<uint64_t>(heaps.heap_base));
}

/*
 * A put by the lanes of a warp together. req_rptr is symmetric; what is at req_lptr must stay until
 * a quiet of the queue. The proxy posts what it finds, so nothing is to be held back: the
 * argument of the template, and the number of the message, mean nothing here.
 */
template <bool kAlwaysDoPostSend = false>
static __device__ __forceinline__ void
nvshmemi_ibgda_put_nbi_warp(uint64_t req_rptr, uint64_t req_lptr, size_t bytes, int dst_pe,
                            int qp_id, int lane_id, int message_idx)
{
    (void)lane_id, (void)message_idx;
    shmemx_putmem_nbi_warp(shmemx_queue(qp_id), reinterpret_cast<void *>(req_rptr),
                           reinterpret_cast<const void *>(req_lptr), bytes, dst_pe);
}

/*
 * Adds to 4 bytes of a PE, behind what the queue was given before. By one thread. A copy of this PE
 * itself is reached by loads and stores, as is every PE that has an address here.
 */
static __device__ __forceinline__ void nvshmemi_ibgda_amo_nonfetch_add(void *rptr, const int &value,
                                                                       int pe, int qp_id,
                                                                       bool is_local_copy = false)
{
    (void)is_local_copy;
    shmem_context queue = shmemx_queue(qp_id);
#ifndef IBGDA_WITHOUT_ORDER /* for a test, which has to notice it */
    shmem_fence(queue);
#endif
    shmem_int_atomic_add(queue, static_cast<int *>(rptr), value, pe);
}

/*
 * Puts 4 bytes, by one thread, in the same order: kernels raise flags by it as well, and a write on
 * a queue of InfiniBand does not overtake the one before it. There is no immediate data.
 */
static __device__ __forceinline__ void nvshmemi_ibgda_rma_p(int *rptr, const int value, int dst_pe,
                                                            int qp_id, uint32_t imm = UINT32_MAX)
{
    (void)imm;
    shmem_context queue = shmemx_queue(qp_id);
    shmem_fence(queue);
    shmem_int_p(queue, rptr, value, dst_pe);
}

/* Waits until what the queue was given is complete, at this PE and others. */
static __device__ __forceinline__ void nvshmemi_ibgda_quiet(int dst_pe, int qp_id)
{
    (void)dst_pe;
    shmem_quiet(shmemx_queue(qp_id));
}

#endif
