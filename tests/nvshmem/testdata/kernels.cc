/*
 * kernels.cc: names of NVSHMEM that kernels call, in kernels that are threads of the host
 * (tests/device/emulated): their results over loads and stores and over rings.
 */
#include "emulated.h"

namespace kernels
{
#include <shmem/zz_atomics.h>
}

/* A queue as shmem.cuh has it. */
static void kernels_add(int *counter, int value, int pe, int queue)
{
    kernels::shmem_int_atomic_add(shmemx_queue(queue), counter, value, pe);
}

static int right, wrong;
#define EXPECT(good)                                                                               \
    do {                                                                                           \
        if (good)                                                                                  \
            right++;                                                                               \
        else if (wrong++ < 20)                                                                     \
            printf("PE %d, line %d: %s\n", shmem_my_pe(), __LINE__, #good);                        \
    } while (0)

namespace kernels
{
/* Numbers: an enumeration of the global namespace would find the host's function. */
static const nvshmem_team_t WORLD = NVSHMEM_TEAM_WORLD, NONE = NVSHMEM_TEAM_INVALID;
static const uint32_t BATCH = NVSHMEMX_REGION_HINT_BATCH_RMA;
static const int N = 20000; /* elements: a reduction takes several rounds */
static int me, pes, next, last;

static void strided(void)
{
    uint16_t *shorts = (uint16_t *)shmem_calloc(64, 2), own[64], got[64] = {};
    uint64_t *wide = (uint64_t *)shmem_calloc(64, 8), mine[64];
    for (int i = 0; i < 64; i++) {
        own[i] = (uint16_t)(100 * me + i);
        mine[i] = (uint64_t)me << 32 | (uint64_t)i;
    }
    nvshmem_ushort_iput(shorts, own, 3, 2, 20, next);
    emulate(40, [&] { nvshmemx_iput128_block(wide, mine, 2, 3, 10, next); });
    nvshmem_barrier_all();
    for (int i = 0; i < 64; i++) {
        EXPECT(shorts[i] == (i % 3 == 0 && i / 3 < 20 ? 100 * last + i / 3 * 2 : 0));
        int element = i / 2, place = element / 2;
        bool there = element % 2 == 0 && place < 10;
        EXPECT(wide[i] ==
               (there ? (uint64_t)last << 32 | (uint64_t)(place * 6 + i % 2) : (uint64_t)0));
    }
    emulate(33, [&] { nvshmemx_ushort_iget_warp(got, shorts, 1, 3, 20, next); });
    for (int i = 0; i < 20; i++)
        EXPECT(got[i] == 100 * me + 2 * i);
    nvshmem_barrier_all();
}

template <class REDUCE> static void scattered(REDUCE reduce, size_t n)
{
    long *source = (long *)shmem_malloc((size_t)pes * N * sizeof(long));
    long *dest = (long *)shmem_calloc(N, sizeof(long));
    for (size_t i = 0; i < (size_t)pes * n; i++)
        source[i] = (long)(i * 7 + 1) * (me + 1);
    nvshmem_barrier_all();
    reduce(dest, source, n);
    for (size_t i = 0; i < n; i++) {
        long sum = 0;
        for (int pe = 0; pe < pes; pe++)
            sum += (long)(((size_t)me * n + i) * 7 + 1) * (pe + 1);
        EXPECT(dest[i] == sum);
    }
    EXPECT(n == (size_t)N || dest[n] == 0);
    shmem_free(dest);
    shmem_free(source);
}

static void reductions(void)
{
    for (size_t n : {(size_t)1, (size_t)77, (size_t)N, (size_t)0}) {
        scattered([](long *d, long *s,
                     size_t k) { EXPECT(nvshmem_long_sum_reducescatter(WORLD, d, s, k) == 0); },
                  n);
        scattered(
            [](long *d, long *s, size_t k) {
                emulate(48, [&] { (void)nvshmemx_long_sum_reducescatter_block(WORLD, d, s, k); });
            },
            n);
    }
    /* In place: at the start of the source, and at the caller's part. */
    for (int part : {0, me}) {
        int *both = (int *)shmem_malloc(2 * (size_t)pes * sizeof(int));
        for (int i = 0; i < 2 * pes; i++)
            both[i] = i + me;
        nvshmem_barrier_all();
        EXPECT(nvshmem_int_max_reducescatter(WORLD, both + 2 * part, both, 2) == 0);
        EXPECT(both[2 * part] == 2 * me + pes - 1 && both[2 * part + 1] == 2 * me + pes);
        shmem_free(both);
    }
    EXPECT(nvshmem_int_max_reducescatter(NONE, NULL, NULL, 0) != 0);
    double2 *pairs = (double2 *)shmem_malloc(2 * sizeof(double2));
    double2 *greatest = (double2 *)shmem_malloc(2 * sizeof(double2));
    pairs[0] = {(double)me, 10.0 + me};
    pairs[1] = {-(double)me, 20.0 + me};
    nvshmem_barrier_all();
    emulate(40, [&] { (void)nvshmemx_double2_maxloc_reduce_block(WORLD, greatest, pairs, 2); });
    EXPECT(greatest[0].x == pes - 1 && greatest[0].y == 9.0 + pes);
    EXPECT(greatest[1].x == 0 && greatest[1].y == 20.0);
}

static void queues(void)
{
    int *box = (int *)shmem_calloc(8, sizeof(int)), from[4] = {me, me + 1, me + 2, me + 3};
    uint64_t *signal = (uint64_t *)shmem_calloc(1, 8);
    nvshmemx_qp_handle_t handles[2] = {NVSHMEMX_QP_DEFAULT, NVSHMEMX_QP_ANY};
    nvshmemx_qp_int_put_nbi(box, from, 2, next, handles[0]);
    nvshmemx_qp_int_p(box + 2, 50 + me, next, handles[1]);
    nvshmemx_qp_fence(next, handles, 2);
    nvshmemx_qp_int_put_signal(box + 4, from, 4, signal, 3, NVSHMEM_SIGNAL_SET, next, handles[0]);
    nvshmemx_qp_signal_op(signal, 4, NVSHMEM_SIGNAL_ADD, next, handles[0]);
    emulate(33, [&] { nvshmemx_qp_quiet_warp(next, handles, 2); });
    nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, 7);
    /* Semantics 9: every number but that of set adds. */
    nvshmem_sync_all();
    nvshmemx_signal_op(signal, 5, 0, next);
    nvshmem_int_put_signal(box + 4, from, 4, signal, 3, 4, next);
    nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, 15);
    for (int i = 0; i < 4; i++)
        EXPECT(box[4 + i] == last + i);
    EXPECT(box[0] == last && box[1] == last + 1 && box[2] == 50 + last && box[3] == 0);
    EXPECT(nvshmemx_qp_int_g(box + 2, next, handles[0]) == 50 + me);
    nvshmemx_signal_counted_reset(signal);
    EXPECT(nvshmem_signal_fetch(signal) == 0);
    emulate(5, [] { nvshmemx_flush_block(); });
    nvshmem_barrier_all();
}

/* How many positions of the ring have been taken. */
static uint64_t taken(uint32_t ring)
{
    const struct shmemi_ring *rings = (const struct shmemi_ring *)shmemi_here.job.rings;
    return shmemi_load_near(&shmemi_near_of(&rings[ring])->head);
}

/* Operations on a handle go to its ring and to no other, from any thread. */
static void queues_apart(void)
{
    enum { QUEUES = 5 };
    uint32_t rings = shmemi_here.job.ring_count;
    int *box = (int *)shmem_calloc(QUEUES, sizeof *box);
    nvshmemx_qp_handle_t handles[QUEUES];
    int far = shmem_ptr(box, next) == NULL;
    for (int q = 0; q < QUEUES; q++)
        handles[q] = NVSHMEMX_QP_DEFAULT + 1 + q;
    for (int q = QUEUES - 1; q >= 0; q--) { /* threads count upwards */
        uint64_t before[64];
        for (uint32_t i = 0; i < rings; i++)
            before[i] = taken(i);
        emulate(2, [&] {
            if (threadIdx.x == 1) {
                nvshmemx_qp_int_p(box + q, 1000 * me + q, next, handles[q]);
                nvshmemx_qp_fence(next, handles + q, 1);
                ::kernels_add(box + q, 1, next, q);
            }
        });
        /* An element, a fence and an addition are a slot each. To a near PE only the fence goes
         * there, if earlier operations are not complete. */
        for (uint32_t i = 0; i < rings; i++) {
            uint64_t slots = taken(i) - before[i];
            EXPECT(i != q % rings ? slots == 0 : far ? slots == 3 : slots <= 1);
        }
    }
    nvshmemx_qp_quiet(next, handles, QUEUES);
    for (int q = 0; q < QUEUES; q++)
        EXPECT(nvshmemx_qp_int_g(box + q, next, handles[q]) == 1000 * me + q + 1);
    nvshmem_barrier_all();
}

static void others(void)
{
    int major = 0, minor = 0, patch = -1, active = 1;
    char name[NVSHMEM_MAX_NAME_LEN];
    nvshmem_info_get_version(&major, &minor);
    EXPECT(major == 1 && minor == 3);
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    EXPECT(major == 3 && minor == 8 && patch == 0);
    nvshmem_info_get_name(name);
    EXPECT(strcmp(name, NVSHMEM_VENDOR_STRING) == 0);
    EXPECT(nvshmemx_mc_ptr(WORLD, name) == NULL);
    nvshmemx_region_handle_t handle = 1;
    nvshmemx_region_attrs_t attrs = NVSHMEMX_REGION_ATTRS_INITIALIZER;
    EXPECT(nvshmemx_region_start_block(&handle, &attrs) == 0);
    EXPECT(nvshmemx_region_is_active(BATCH, &active) == 0 && active == 0);
    EXPECT(nvshmemx_region_stop_block(handle) == 0);
    EXPECT(nvshmemx_region_start_block(NULL, &attrs) == NVSHMEMX_ERROR_INVALID_VALUE);
    EXPECT(nvshmemx_ask_smem(NVSHMEMX_SMEM_RECOMMENDED) == 0);
    nvshmemx_give_smem(name, sizeof name);
    nvshmemx_release_smem();
    emulate(128, [&] {
        if (nvshmemx_barrier_warpgroup(WORLD) != 0)
            abort();
    });
    __half *half = (__half *)shmem_calloc(2, sizeof(__half));
    kernels::nvshmem_half_p(half, __half(7.0f + (float)me), next);
    nvshmem_barrier_all();
    EXPECT((float)half[0] == 7 + last && (float)kernels::nvshmem_half_g(half, next) == 7 + me);
    nvshmem_barrier_all();
}

static void run(void)
{
    me = nvshmem_my_pe();
    pes = nvshmem_n_pes();
    next = (me + 1) % pes;
    last = (me + pes - 1) % pes;
    strided();
    reductions();
    queues();
    queues_apart();
    others();
}
} // namespace kernels

int main(void)
{
    shmem_init();
    emulated_begin();
    kernels::run();
    shmem_barrier_all();
    printf("%d checks, %d failed, %s\n", right, wrong,
           wrong == 0 && right > 0 ? "all passed" : "?");
    shmem_finalize();
    return wrong != 0;
}
