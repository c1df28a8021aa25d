/*
 * sums_loads.cu: additions and swaps of the same words by a kernel of their owner and over the
 * network at once, while the owner's host loads kernels beside that one: then the driver executes
 * no work of the owner's context, and operations from the network run in another one. None may be
 * lost or executed twice. PE 0 owns the words; PE 1 changes them over the network, alternately by a
 * kernel and by its host, and then ends PE 0's kernel.
 *
 * shmemrun -n 2 --hosts 2 -x SHMEM_PROVIDER=tcp sums_loads [TIMES] [fill]
 *
 * With fill PE 0's kernel occupies a whole GPU, so that no other kernel of its context starts.
 */
#include "full.h"
#include "try.h"

#include <algorithm>
#include <chrono>
#include <cudaTypedefs.h>
#include <thread>
#include <utility>

namespace kernels
{

constexpr int ROUNDS = 6, LOADS = 3, MOST = 100;
constexpr unsigned WARP = 32, ROLES = 6;

/* The largest result of fetch_add. The owner's one thread adds some 10^6 a second. */
constexpr uint64_t BITS = (uint64_t)1 << 27;

/* PE 0 leaves a word that ends in these bits to PE 1 for this long, in ns, because PE 1 runs only
 * in some of the time slices of 2.4 ms. Then both try. */
constexpr uint64_t LEFT = 7, TIMEOUT = 20000000;

template <class T> struct words {
    T added, told, swapped;
};

struct board {
    words<uint64_t> wide;
    words<uint32_t> narrow;
    uint64_t begun, done; /* signals: the round of PE 0's kernel, and of PE 1's part */
};

/* The work of PE 0's kernels on words of one size. */
struct owned {
    unsigned long long added, told, swapped, bad;
    uint32_t *bits; /* one for each answer of fetch_add */
};

/* The work of PE 1. */
template <class T> struct part {
    T told[ROUNDS * MOST], seen;
    uint64_t swapped;
};

struct parts {
    part<uint64_t> wide;
    part<uint32_t> narrow;
};

/* The calls of both sizes. */
BOTH void add(uint64_t *word)
{
    shmem_uint64_atomic_add(word, 1, 0);
}

BOTH void add(uint32_t *word)
{
    shmem_uint32_atomic_add(word, 1, 0);
}

BOTH uint64_t fetch_add(uint64_t *word)
{
    return shmem_uint64_atomic_fetch_add(word, 1, 0);
}

BOTH uint32_t fetch_add(uint32_t *word)
{
    return shmem_uint32_atomic_fetch_add(word, 1, 0);
}

BOTH uint64_t swap(uint64_t *word, uint64_t from)
{
    return shmem_uint64_atomic_compare_swap(word, from, from + 1, 0);
}

BOTH uint32_t swap(uint32_t *word, uint32_t from)
{
    return shmem_uint32_atomic_compare_swap(word, from, from + 1, 0);
}

static __device__ void add_by_hand(uint64_t *word)
{
    atomicAdd((unsigned long long *)(void *)word, 1ull);
}

static __device__ void add_by_hand(uint32_t *word)
{
    atomicAdd(word, 1u);
}

static __device__ uint64_t now_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

static __device__ bool over(const board *b, uint64_t round)
{
    return *(const volatile uint64_t *)&b->done > round;
}

/* CUDA's own additions, and the library's. */
template <class T>
static __device__ void keep_adding(T *word, owned *o, const board *b, uint64_t round)
{
    unsigned long long count = 0;
    for (; !over(b, round); count++)
        if (threadIdx.x % 2 == 0)
            add_by_hand(word);
        else
            add(word);
    atomicAdd(&o->added, count);
}

/* No value may be returned twice. */
template <class T>
static __device__ void keep_asking(T *word, owned *o, const board *b, uint64_t round)
{
    unsigned long long count = 0, bad = 0;
    for (; !over(b, round); count++) {
        uint64_t told = fetch_add(word);
        uint32_t bit = 1u << told % 32;
        bad += told >= BITS || (atomicOr(&o->bits[told / 32], bit) & bit) != 0;
    }
    atomicAdd(&o->told, count);
    atomicAdd(&o->bad, bad);
}

/* Also tries swaps that must fail: with a value that the word no longer has, because it only grows.
 */
template <class T>
static __device__ void keep_swapping(T *word, owned *o, const board *b, uint64_t round)
{
    unsigned long long count = 0, bad = 0;
    T seen = *(volatile T *)word;
    for (uint64_t since = now_ns(); !over(b, round);) {
        bool mine = seen % (LEFT + 1) != LEFT || now_ns() - since > TIMEOUT;
        T from = mine ? seen : seen - 1;
        T was = swap(word, from);
        bool done = was == from;
        count += done && mine;
        bad += done && !mine;
        T is = done ? from + 1 : was;
        since = is == seen ? since : now_ns();
        seen = is;
    }
    atomicAdd(&o->swapped, count);
    atomicAdd(&o->bad, bad);
}

/* PE 0's. The first warps change the words; the other threads fill the GPU. */
static __global__ void __launch_bounds__(1024, 2)
    own(board *b, owned *wide, owned *narrow, uint64_t round)
{
    unsigned role = blockIdx.x == 0 ? threadIdx.x / WARP : ROLES, lane = threadIdx.x % WARP;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        shmemx_signal_op(&b->begun, round + 1, SHMEM_SIGNAL_SET, 1);
    if (role == 0)
        keep_adding(&b->wide.added, wide, b, round);
    if (role == 1)
        keep_adding(&b->narrow.added, narrow, b, round);
    if (role == 2 && lane == 0)
        keep_asking(&b->wide.told, wide, b, round);
    if (role == 3 && lane == 0)
        keep_asking(&b->narrow.told, narrow, b, round);
    if (role == 4 && lane == 0)
        keep_swapping(&b->wide.swapped, wide, b, round);
    if (role == 5 && lane == 0)
        keep_swapping(&b->narrow.swapped, narrow, b, round);
    while (blockIdx.x != 0 && threadIdx.x == 0 && !over(b, round))
        __nanosleep(1000);
    __syncthreads();
}

/* A new kernel for each load. They add, too. */
template <int LOAD> static __global__ void loaded(board *b)
{
    add_by_hand(&b->wide.added);
    add(&b->narrow.added);
}

using late = void (*)(board *);

template <int... LOAD> late nth(int load, std::integer_sequence<int, LOAD...>)
{
    static const late all[] = {loaded<LOAD>...};
    return all[load];
}

template <class T> BOTH void change(words<T> *w, part<T> *p, int at)
{
    add(&w->added);
    add(&w->added);
    p->told[at] = fetch_add(&w->told);
    T from = p->seen | (T)LEFT, was = swap(&w->swapped, from);
    p->swapped += was == from;
    p->seen = was == from ? from + 1 : was;
}

/* PE 1's, beside PE 0's kernel. */
BOTH void take_part(board *b, parts *p, int times, int round)
{
    shmem_signal_wait_until(&b->begun, SHMEM_CMP_GE, (uint64_t)round + 1);
    ONE_BY_ONE
    for (int i = 0; i < times; i++) {
        change(&b->wide, &p->wide, round * times + i);
        change(&b->narrow, &p->narrow, round * times + i);
    }
    shmem_quiet();
    shmem_signal_set(&b->done, (uint64_t)round + 1, 0);
    shmem_quiet();
}

KERNEL take_part_by_kernel(board *b, parts *p, int times, int round)
{
    take_part(b, p, times, round);
}

static bool loads_lazily()
{
    PFN_cuModuleGetLoadingMode_v11070 ask = nullptr;
    cudaDriverEntryPointQueryResult found;
    CUmoduleLoadingMode mode;
    CHECK(cudaGetDriverEntryPointByVersion("cuModuleGetLoadingMode", (void **)&ask, 11070,
                                           cudaEnableDefault, &found));
    return ask != nullptr && ask(&mode) == CUDA_SUCCESS && mode == CU_MODULE_LAZY_LOADING;
}

static struct full gpu; /* how PE 0's kernel is launched */
static cudaStream_t owns, loads;
static int loaded_beside;

static void choose_shape(bool fill)
{
    int device = 0, fit = 0;
    CHECK(cudaGetDevice(&device));
    CHECK(full_open(&gpu, device));
    if (!fill) {
        gpu.blocks = 1;
        gpu.threads = WARP * ROLES;
        gpu.shared = 0;
        return;
    }
    CHECK(cudaFuncSetAttribute(own, cudaFuncAttributeMaxDynamicSharedMemorySize, gpu.shared));
    CHECK(cudaFuncSetAttribute(own, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared));
    CHECK(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, own, gpu.threads, (size_t)gpu.shared));
    expect(fit == 2, "the kernel fills the GPU");
}

static owned *open_owned()
{
    owned *o;
    CHECK(cudaMallocHost((void **)&o, sizeof *o));
    memset(o, 0, sizeof *o);
    o->bits = (uint32_t *)(void *)own_memory(BITS / 8);
    return o;
}

/* The loads begin at another time in each round, before PE 1's part and during it. */
static void own_and_load(board *b, owned *wide, owned *narrow, int round)
{
    own<<<gpu.blocks, gpu.threads, gpu.shared, owns>>>(b, wide, narrow, (uint64_t)round);
    CHECK(cudaGetLastError());
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 4));
    loaded_beside += cudaStreamQuery(owns) == cudaErrorNotReady;
    (void)cudaGetLastError(); /* which a query leaves */
    for (int i = 0; i < LOADS; i++) {
        nth(round * LOADS + i,
            std::make_integer_sequence<int, ROUNDS * LOADS>{})<<<1, 1, 0, loads>>>(b);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaStreamSynchronize(owns));
    CHECK(cudaStreamSynchronize(loads));
}

static void take_part_somehow(board *b, parts *p, int times, int round)
{
    if (round % 2 == 0)
        LAUNCH(1, take_part_by_kernel, b, p, times, round);
    else
        take_part(b, p, times, round);
}

static void sum(const std::string &what, uint64_t got, uint64_t want)
{
    expect(got == want, what + ": " + std::to_string(got) + ", want " + std::to_string(want));
}

template <class T> void judge(words<T> have, const owned *o, const part<T> &p, int times)
{
    std::string size = std::to_string(8 * sizeof(T)) + " bits: ";
    uint64_t asked = (uint64_t)(ROUNDS * times), bad = o->bad, missing = 0;
    std::vector<uint32_t> bits(BITS / 32);
    copy_memory(bits.data(), o->bits, BITS / 8);
    for (uint64_t i = 0; i < asked; i++) {
        uint64_t told = p.told[i];
        bool first = told < BITS && (bits[told / 32] >> told % 32 & 1) == 0;
        bad += !first;
        if (first)
            bits[told / 32] |= 1u << told % 32;
    }
    for (uint64_t i = 0; i < have.told && i < BITS; i++)
        missing += (bits[i / 32] >> i % 32 & 1) == 0;
    sum(size + "additions", have.added, (T)(o->added + 2 * asked + ROUNDS * LOADS));
    sum(size + "additions that answer", have.told, o->told + asked);
    sum(size + "answers told twice, and swaps that cannot be", bad, 0);
    sum(size + "answers that no addition returned", missing, 0);
    sum(size + "swaps", have.swapped, o->swapped + p.swapped);
    expect(o->swapped > 0 && p.swapped > 0, size + "both PEs swap");
    printf("sums_loads: %sPE 0 made %llu additions, %llu that answer, %llu swaps; PE 1 %llu, "
           "%llu, %llu of %llu\n",
           size.c_str(), o->added, o->told, o->swapped, 2ull * asked, 1ull * asked,
           1ull * p.swapped, 1ull * asked);
}

static void run(int times, bool fill)
{
    board *b = (board *)shmem_calloc(1, sizeof *b);
    parts *place = (parts *)shmem_calloc(1, sizeof *place), *mine;
    owned *wide = open_owned(), *narrow = open_owned();
    CHECK(cudaMallocHost((void **)&mine, sizeof *mine));
    memset(mine, 0, sizeof *mine);
    CHECK(cudaStreamCreateWithFlags(&owns, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&loads, cudaStreamNonBlocking));
    choose_shape(fill && me == 0);
    expect(loads_lazily(), "kernels are loaded lazily");
    for (int round = 0; round < ROUNDS; round++) {
        shmem_barrier_all();
        if (me == 0)
            own_and_load(b, wide, narrow, round);
        if (me == 1)
            take_part_somehow(b, mine, times, round);
    }
    if (me == 1)
        shmem_putmem(place, mine, sizeof *mine, 0);
    shmem_barrier_all();
    if (me != 0)
        return;
    /* A slow host may be late in a few. */
    expect(loaded_beside >= ROUNDS / 2, "kernels are loaded beside the one that adds");
    board have;
    shmem_getmem(&have, b, sizeof have, 0);
    shmem_getmem(mine, place, sizeof *mine, 0);
    judge(have.wide, wide, mine->wide, times);
    judge(have.narrow, narrow, mine->narrow, times);
}

} // namespace kernels

int main(int argc, char **argv)
{
    int times = 20;
    bool fill = false;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "fill") == 0)
            fill = true;
        else
            times = std::min(std::max(atoi(argv[i]), 1), kernels::MOST);
    begin("sums_loads");
    kernels::run(times, fill);
    return end();
}
