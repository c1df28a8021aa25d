/*
 * moe.cuh: the kernels of dispatch.cu. Tokens go to the PEs of their experts and results come back
 * as in DeepEP's low-latency kernels: a warp puts each message, and when all messages of this PE
 * for an expert are put, an addition announces their number.
 */
#ifndef EXAMPLES_DEEPEP_MOE_CUH
#define EXAMPLES_DEEPEP_MOE_CUH

#include "ibgda_device.cuh"

#ifndef WARP /* lanes of a warp */
#define WARP 32
#endif

/* The data of one PE's kernels in one round. Expert e is number e % local of PE e / local. */
struct moe {
    int me, n, experts, local;
    int tokens, top;   /* of each PE, and the number of experts that each goes to */
    int words;         /* of a message: the token's number, its PE's, and the contents */
    int capacity;      /* messages that one PE may have for one expert */
    uint32_t round;    /* changes the tokens and their experts from round to round */
    const int *expert; /* [token][top] */
    const int *place;  /* [token][top] index among this PE's messages for the expert */
    const int *count;  /* [expert] messages of this PE in the round */
    int *sent;         /* [expert] messages of this PE that are put so far */
    unsigned *result;  /* [0] received messages, [1] results, [2] errors */
    uint32_t *out;     /* [token] messages; from here on symmetric */
    uint32_t *in;      /* [local][PE][capacity] received messages */
    uint32_t *made;    /* the same: their results */
    uint32_t *back;    /* [token][top] received results */
    int *arrived;      /* [local][PE] -1 - the number of messages; 0: not announced yet */
    int *ready;        /* [expert] 1: its results are there */
};

static __host__ __device__ __forceinline__ uint32_t moe_mix(uint32_t a, uint32_t b)
{
    uint32_t h = a * 0x9e3779b1u ^ b * 0x85ebca6bu;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    return h ^ h >> 12;
}

/* Expert k of a token. Its top experts differ: the step from one to the next is odd, and the number
 * of experts is a power of 2. */
static __host__ __device__ __forceinline__ int moe_expert(const struct moe &m, int pe, int token,
                                                          int k)
{
    uint32_t h = moe_mix(m.round * 1000003u + (uint32_t)token, (uint32_t)pe);
    return (int)((h + (uint32_t)k * (h >> 9 | 1)) % (uint32_t)m.experts);
}

/* Word i of the message for a token of pe. */
static __host__ __device__ __forceinline__ uint32_t moe_word(const struct moe &m, int pe, int token,
                                                             int i)
{
    return i == 0   ? (uint32_t)token
           : i == 1 ? (uint32_t)pe
                    : moe_mix(m.round + (uint32_t)(pe << 20 | token), (uint32_t)i);
}
/* The word that expert e makes of a word of a message. */
static __host__ __device__ __forceinline__ uint32_t moe_result(uint32_t word, int e)
{
    return word * 3 + (uint32_t)e;
}

#ifdef SHMEMI_KERNEL

/* Loads a word that other threads or PEs write. */
static __device__ __forceinline__ int moe_look(const int *at)
{
    return *(const volatile int *)at;
}

/* Waits until a word is not 0, and returns it. Lane 0 waits for its whole warp. */
static __device__ __forceinline__ int moe_wait(int *at, int lane)
{
    if (lane == 0)
        nvshmem_int_wait_until(at, NVSHMEM_CMP_NE, 0);
    __syncwarp();
    return moe_look(at);
}

/* Sends a message by all lanes of a warp: by stores where they reach pe, else by a queue. number is
 * that of the message among those for its expert. */
static __device__ __forceinline__ void moe_send(const struct moe &m, uint32_t *to,
                                                const uint32_t *from, int pe, int queue, int lane,
                                                int number)
{
    uint64_t at = reinterpret_cast<uint64_t>(to);
    uint64_t near = nvshmemi_get_p2p_ptr(at, m.me, pe);
    if (near == 0) {
        nvshmemi_ibgda_put_nbi_warp(at, reinterpret_cast<uint64_t>(from), 4 * (size_t)m.words, pe,
                                    queue, lane, number);
        return;
    }
    for (int i = lane; i < m.words; i += WARP)
        reinterpret_cast<uint32_t *>(near)[i] = from[i];
}

/*
 * Adds value to a counter of pe. By one lane, after all messages that the addition announces have
 * been sent. On a queue, the addition itself follows them; for stores, the lane has synchronised
 * with the threads that made them, and the fence makes their stores visible first.
 */
static __device__ __forceinline__ void moe_tell(const struct moe &m, int *counter, int value,
                                                int pe, int queue)
{
    uint64_t near = nvshmemi_get_p2p_ptr(reinterpret_cast<uint64_t>(counter), m.me, pe);
    if (near == 0) {
        nvshmemi_ibgda_amo_nonfetch_add(counter, value, pe, queue, pe == m.me);
        return;
    }
    __threadfence_system();
    atomicAdd_system(reinterpret_cast<int *>(near), value);
}

/* As expert number index of this PE, by a warp: waits for the messages of pe, checks each word, and
 * computes the results. */
static __device__ __forceinline__ void moe_work(const struct moe &m, int index, int pe, int lane)
{
    int pair = index * m.n + pe, e = m.me * m.local + index;
    int messages = -1 - moe_wait(m.arrived + pair, lane);
    unsigned wrong = messages > m.capacity;
    for (int slot = 0; slot < messages && slot < m.capacity; slot++) {
        size_t at = ((size_t)pair * m.capacity + slot) * m.words;
        int token = (int)m.in[at], meant = 0;
        for (int k = 0; k < m.top; k++)
            meant |= moe_expert(m, pe, token, k) == e;
        wrong += lane == 0 && (!meant || (unsigned)token >= (unsigned)m.tokens);
        for (int i = lane; i < m.words; i += WARP) {
            wrong += m.in[at + i] != moe_word(m, pe, token, i);
            m.made[at + i] = moe_result(m.in[at + i], e);
        }
    }
    if (lane == 0)
        atomicAdd(m.result, (unsigned)messages);
    if (wrong != 0)
        atomicAdd(m.result + 2, wrong);
}

/* Sends this PE's tokens to their experts, and checks those that arrive here. The warp that
 * announces a number may be another than the warps that put: it waits until m.sent has that number,
 * and the order of the queue does the rest. */
static __device__ void moe_dispatch(const struct moe &m)
{
    int lane = threadIdx.x % WARP, warps = gridDim.x * blockDim.x / WARP;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    /* Each expert of a PE has a queue of its own to that PE, number e % m.local. */
    if (ibgda_get_state()->num_rc_per_pe * ibgda_get_state()->num_devices_initialized <
        (uint32_t)m.local) {
        if (lane == 0)
            atomicAdd(m.result + 2, 1u);
        return;
    }
    for (int i = warp; i < m.tokens * m.top; i += warps) {
        int e = m.expert[i], index = e % m.local;
        size_t slot = (size_t)(index * m.n + m.me) * m.capacity + m.place[i];
        moe_send(m, m.in + slot * m.words, m.out + (size_t)(i / m.top) * m.words, e / m.local,
                 index, lane, m.place[i]);
        __syncwarp();
        if (lane == 0) {
            __threadfence();
            atomicAdd(m.sent + e, 1);
        }
    }
    for (int e = warp; e < m.experts; e += warps) {
        if (lane == 0) {
            while (moe_look(m.sent + e) != m.count[e])
                ;
            __threadfence(); /* pairs with the fence before the addition to m.sent */
            moe_tell(m, m.arrived + (e % m.local) * m.n + m.me, -1 - m.count[e], e / m.local,
                     e % m.local);
        }
        __syncwarp();
    }
    for (int pair = warp; pair < m.local * m.n; pair += warps)
        moe_work(m, pair / m.n, pair % m.n, lane);
}

/* Sends the results of moe_dispatch to the PEs of their tokens, and checks those that arrive here.
 */
static __device__ void moe_combine(const struct moe &m)
{
    int lane = threadIdx.x % WARP, warps = gridDim.x * blockDim.x / WARP;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    for (int pair = warp; pair < m.local * m.n; pair += warps) {
        int index = pair / m.n, pe = pair % m.n, e = m.me * m.local + index;
        int messages = -1 - moe_look(m.arrived + pair);
        for (int slot = 0; slot < messages && slot < m.capacity; slot++) {
            size_t at = ((size_t)pair * m.capacity + slot) * m.words;
            int token = (int)m.in[at], k = 0;
            while (k < m.top - 1 && moe_expert(m, pe, token, k) != e)
                k++;
            moe_send(m, m.back + (size_t)(token * m.top + k) * m.words, m.made + at, pe, index,
                     lane, slot);
        }
        __syncwarp();
        if (lane == 0)
            moe_tell(m, m.ready + e, 1, pe, index);
        __syncwarp();
    }
    for (int i = warp; i < m.tokens * m.top; i += warps) {
        int token = i / m.top, e = m.expert[i];
        unsigned wrong = moe_wait(m.ready + e, lane) != 1;
        for (int j = lane; j < m.words; j += WARP)
            wrong += m.back[(size_t)i * m.words + j] != moe_result(moe_word(m, m.me, token, j), e);
        if (lane == 0)
            atomicAdd(m.result + 1, 1u);
        if (wrong != 0)
            atomicAdd(m.result + 2, wrong);
    }
}

/* Ends a round, by one block: completes all queues, and then writes the round's number to each PE,
 * which checks that the numbers of all PEs have come. acks: symmetric, a word for each PE.
 * team: made by the host, and synchronised at the end. */
static __device__ void moe_settle(const struct moe &m, int *acks, nvshmem_team_t team)
{
    for (int i = threadIdx.x; i < m.local * m.n; i += blockDim.x)
        nvshmemi_ibgda_quiet(i / m.local, i % m.local);
    __syncthreads();
    for (int pe = threadIdx.x; pe < m.n; pe += blockDim.x) {
        nvshmemi_ibgda_rma_p(acks + m.me, (int)m.round, pe, 0);
        nvshmemi_ibgda_quiet(pe, 0);
    }
    nvshmemx_barrier_all_block();
    for (int pe = threadIdx.x; pe < m.n; pe += blockDim.x)
        if (moe_look(acks + pe) != (int)m.round)
            atomicAdd(m.result + 2, 1u);
    if (threadIdx.x == 0)
        nvshmem_sync(team);
    __syncthreads();
}

#endif

#endif
