/*
 * rows.cu: a program that is built with NVIDIA's headers and device archive, and runs on this
 * library's libnvshmem_host.so.3 or on NVIDIA's: each kind of device call, by a thread, a warp and
 * a block, on the world and on a split team, with each value checked. One line for each row. PEs of
 * other hosts are reached by the proxy channel.
 *
 * rows RANK N FILE [ROUNDS]     N processes, of which number 0 writes the unique ID to FILE
 * rows RANK N FILE exit         a kernel of PE N - 1 ends the job with status 7
 * rows RANK N FILE times        us for a put with signal to PE N - 1 and one back, by size
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            printf("FAIL PE %d: %s: %s\n", me, #call, cudaGetErrorString(e_));                     \
            fflush(stdout);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

enum { THREAD, WARP, BLOCK, SCOPES, MOST = 40000, WORDS = 1 << 20 };
static const char *const scope_names[] = {"thread", "warp", "block"};

static int me, n, failures, rows;

/* Everything symmetric that a row uses, and where its kernel stores what it has found. */
struct row {
    int me, n, peer, team, team_me, team_n, count, turn;
    int *dest, *source;       /* symmetric, WORDS ints each */
    uint64_t *signal;         /* symmetric, 64 words */
    unsigned long long *word; /* symmetric, 64 words */
    int *found;               /* of this PE, 64 ints */
};

#define BY(name, ...)                                                                              \
    (S == THREAD ? nvshmem_##name(__VA_ARGS__)                                                     \
     : S == WARP ? nvshmemx_##name##_warp(__VA_ARGS__)                                             \
                 : nvshmemx_##name##_block(__VA_ARGS__))
#define KERNEL(name) template <int S> __global__ void name(row r)
#define FIRST if (threadIdx.x == 0)

/* Waits until the number of a round is in a word that the peer stores. */
__device__ void await(uint64_t *word, uint64_t value)
{
    nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, value);
}

KERNEL(ptr)
{
    FIRST
    {
        int *there = (int *)nvshmem_ptr(r.dest, r.peer);
        r.found[0] = there != NULL && nvshmem_ptr(r.found, r.peer) == NULL;
        if (there != NULL)
            there[3] = 1000 + r.me;
        nvshmem_quiet();
    }
}

KERNEL(p_g)
{
    FIRST
    {
        nvshmem_int_p(r.dest + 1, 10 + r.me, r.peer);
        nvshmem_char_p((char *)(r.dest + 2), (char)(20 + r.me), r.peer);
        nvshmem_double_p((double *)(r.dest + 4), 0.5 + r.me, r.peer);
        r.found[0] = nvshmem_int_g(r.source + 5, r.peer);
        r.found[1] = (int)nvshmem_double_g((double *)(r.source + 8), r.peer);
        nvshmem_quiet();
    }
}

KERNEL(put)
{
    BY(putmem, r.dest, r.source, (size_t)r.count * 4, r.peer);
    BY(int_put_nbi, r.dest + MOST + 1, r.source + 1, (size_t)r.count, r.peer);
    BY(putmem_nbi, (char *)(r.dest + 2 * MOST + 2) + 1, (char *)r.source + 2,
       (size_t)r.count * 4 - 3, r.peer);
    nvshmem_quiet();
}

KERNEL(get)
{
    BY(getmem, r.dest, r.source, (size_t)r.count * 4, r.peer);
    BY(int_get_nbi, r.dest + MOST + 1, r.source + 1, (size_t)r.count, r.peer);
    BY(getmem_nbi, (char *)(r.dest + 2 * MOST + 2) + 1, (char *)r.source + 2,
       (size_t)r.count * 4 - 3, r.peer);
    nvshmem_quiet();
}

KERNEL(strided)
{
    BY(int_iput, r.dest, r.source, 3, 2, 100, r.peer);
    BY(int_iget, r.dest + 1000, r.source, 2, 3, 100, r.peer);
    nvshmem_quiet();
}

KERNEL(put_signal)
{
    BY(putmem_signal, r.dest, r.source, (size_t)r.count * 4, r.signal, (uint64_t)r.turn + 1,
       NVSHMEM_SIGNAL_SET, r.peer);
    BY(putmem_signal_nbi, r.dest + MOST, r.source, (size_t)r.count * 4, r.signal + 1, 1,
       NVSHMEM_SIGNAL_ADD, r.peer);
    FIRST
    {
        await(r.signal, (uint64_t)r.turn + 1);
        await(r.signal + 1, (uint64_t)r.turn + 1);
        /* What came before the signal is there. */
        r.found[0] = ((volatile int *)r.dest)[r.count - 1];
        r.found[1] = ((volatile int *)r.dest)[MOST + r.count - 1];
        nvshmem_quiet();
    }
}

KERNEL(signal)
{
    FIRST
    {
        nvshmemx_signal_op(r.signal + 2, 5, NVSHMEM_SIGNAL_ADD, r.peer);
        await(r.signal + 2, 5 * ((uint64_t)r.turn + 1));
        nvshmemx_signal_op(r.signal + 3, 77 + (uint64_t)r.turn, NVSHMEM_SIGNAL_SET, r.peer);
        await(r.signal + 3, 77 + (uint64_t)r.turn);
        r.found[0] = (int)nvshmem_signal_fetch(r.signal + 2);
    }
}

KERNEL(waits)
{
    FIRST
    {
        int *words = r.dest;
        for (int i = 0; i < 4; i++)
            nvshmem_int_p(words + i, r.turn + 1, r.peer);
        nvshmem_int_wait_until(words, NVSHMEM_CMP_GE, r.turn + 1);
        nvshmem_int_wait_until_all(words, 4, NULL, NVSHMEM_CMP_GE, r.turn + 1);
        r.found[0] = (int)nvshmem_int_wait_until_any(words, 4, NULL, NVSHMEM_CMP_GE, r.turn + 1);
        size_t indices[4];
        r.found[1] =
            (int)nvshmem_int_wait_until_some(words, 4, indices, NULL, NVSHMEM_CMP_GE, r.turn + 1);
        r.found[2] = nvshmem_int_test(words, NVSHMEM_CMP_GE, r.turn + 1) &&
                     !nvshmem_int_test(words, NVSHMEM_CMP_GT, r.turn + 1);
        r.found[3] = (int)nvshmem_int_test_any(words, 4, NULL, NVSHMEM_CMP_GE, r.turn + 1);
        r.found[4] = nvshmem_int_test_all(words, 4, NULL, NVSHMEM_CMP_GE, r.turn + 1);
        r.found[5] = (int)nvshmem_int_test_any(words, 4, NULL, NVSHMEM_CMP_GT, r.turn + 1) == -1;
    }
}

KERNEL(order)
{
    FIRST
    {
        for (int i = 0; i < 100; i++) {
            nvshmem_int_p(r.dest, i + 1, r.peer);
            nvshmem_fence();
            nvshmem_int_p(r.dest + 64, i + 1, r.peer);
        }
        nvshmem_quiet();
        nvshmem_int_wait_until(r.dest + 64, NVSHMEM_CMP_EQ, 100);
        r.found[0] = ((volatile int *)r.dest)[0];
    }
}

KERNEL(atomics)
{
    /* Each PE adds to the words of PE 0. */
    int *i = r.dest;
    unsigned long long *l = r.word;
    nvshmem_int_atomic_add(i, 2, 0);
    nvshmem_int_atomic_inc(i + 1, 0);
    (void)nvshmem_int_atomic_fetch_add(i + 2, 3, 0);
    (void)nvshmem_int_atomic_fetch_inc(i + 3, 0);
    nvshmem_uint64_atomic_add((uint64_t *)l, 1ull << 33, 0);
    (void)nvshmem_uint64_atomic_fetch_add((uint64_t *)l + 1, 5, 0);
    nvshmem_uint_atomic_or((unsigned *)i + 4, 1u << (r.me % 32), 0);
    nvshmem_uint_atomic_xor((unsigned *)i + 5, 1u << (r.me % 32), 0);
    FIRST
    {
        /* Only this PE changes these words, at its peer. */
        int *own = i + 64;
        nvshmem_int_atomic_set(own, 11, r.peer);
        r.found[0] = nvshmem_int_atomic_fetch(own, r.peer);
        r.found[1] = nvshmem_int_atomic_swap(own, 12, r.peer);
        r.found[2] = nvshmem_int_atomic_compare_swap(own, 12, 13, r.peer);
        r.found[3] = nvshmem_int_atomic_compare_swap(own, 12, 14, r.peer);
        r.found[4] = nvshmem_int_atomic_fetch(own, r.peer);
        r.found[5] = (int)nvshmem_uint_atomic_fetch_and((unsigned *)own, 0xd & ~4u, r.peer);
        nvshmem_uint64_atomic_set((uint64_t *)l + 9, 1ull << 40, r.peer);
        r.found[6] = nvshmem_uint64_atomic_swap((uint64_t *)l + 9, 1, r.peer) == 1ull << 40;
        r.found[7] = nvshmem_float_atomic_swap((float *)(i + 70), 1.5f, r.peer) == 0.0f;
    }
    nvshmem_quiet();
}

KERNEL(teams)
{
    FIRST
    {
        r.found[0] = nvshmem_my_pe();
        r.found[1] = nvshmem_n_pes();
        r.found[2] = nvshmem_team_my_pe(r.team);
        r.found[3] = nvshmem_team_n_pes(r.team);
        r.found[4] = nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE);
        r.found[5] = nvshmem_team_n_pes(NVSHMEM_TEAM_SHARED);
        r.found[6] = nvshmem_team_translate_pe(r.team, r.team_me, NVSHMEM_TEAM_WORLD);
        r.found[7] = nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, r.me, r.team);
        r.found[8] = nvshmem_team_n_pes(NVSHMEMX_TEAM_SAME_MYPE_NODE);
    }
}

/* Before each sync a PE stores the round at all members, and finds those of all after it. */
template <int S, int BARRIER> __device__ void rounds(row r)
{
    int wrong = 0;
    for (int round = 1; round <= 20; round++) {
        FIRST
        {
            for (int i = 0; i < r.team_n; i++)
                nvshmem_int_p(r.dest + r.team_me, r.turn * 100 + round,
                              nvshmem_team_translate_pe(r.team, i, NVSHMEM_TEAM_WORLD));
            if (!BARRIER)
                nvshmem_quiet();
        }
        if (BARRIER) {
            if (r.team == NVSHMEM_TEAM_WORLD && round % 2)
                BY(barrier_all);
            else
                BY(barrier, r.team);
        } else if (r.team == NVSHMEM_TEAM_WORLD && round % 2)
            BY(sync_all);
        else if (S == THREAD)
            nvshmem_team_sync(r.team);
        else if (S == WARP)
            nvshmemx_team_sync_warp(r.team);
        else
            nvshmemx_team_sync_block(r.team);
        FIRST
        {
            for (int i = 0; i < r.team_n; i++)
                wrong += ((volatile int *)r.dest)[i] < r.turn * 100 + round;
        }
    }
    FIRST r.found[0] = wrong;
}

KERNEL(sync)
{
    rounds<S, 0>(r);
}

KERNEL(barrier)
{
    rounds<S, 1>(r);
}

#define COLLECTIVES 3 /* of each kind in a row: the counters and buffers take turns */

KERNEL(broadcast)
{
    for (int i = 0; i < COLLECTIVES; i++)
        BY(int_broadcast, r.team, r.dest + i * MOST, r.source + i, (size_t)r.count,
           (r.turn + i) % r.team_n);
}

KERNEL(fcollect)
{
    for (int i = 0; i < COLLECTIVES; i++)
        BY(int_fcollect, r.team, r.dest + i * MOST * 4, r.source + i, (size_t)r.count);
}

KERNEL(alltoall)
{
    for (int i = 0; i < COLLECTIVES; i++)
        BY(int_alltoall, r.team, r.dest + i * MOST * 4, r.source + i, (size_t)r.count);
}

KERNEL(reduce)
{
    for (int i = 0; i < COLLECTIVES; i++)
        BY(int_sum_reduce, r.team, r.dest + i * MOST, r.source + i, (size_t)r.count);
    BY(int_max_reduce, r.team, r.dest + 3 * MOST, r.source, (size_t)r.count);
    BY(float_sum_reduce, r.team, (float *)(r.dest + 4 * MOST), (float *)(r.source + WORDS / 2),
       (size_t)r.count);
}

KERNEL(reducescatter)
{
    for (int i = 0; i < COLLECTIVES; i++)
        BY(int_sum_reducescatter, r.team, r.dest + i * MOST, r.source + i, (size_t)r.count);
}

__global__ void launched(row r)
{
    nvshmemx_barrier_all_block();
    FIRST nvshmem_int_p(r.dest + 9, 90 + r.me, r.peer);
    nvshmemx_barrier_all_block();
    FIRST r.found[0] = ((volatile int *)r.dest)[9];
}

/* `rounds` puts with signals to the peer, each of which waits for one of the peer. The PE with
 * `first` begins. */
__global__ void ping(row r, int first, int rounds)
{
    for (int i = 1; i <= rounds; i++) {
        if (!first)
            await(r.signal, (uint64_t)r.turn + i);
        nvshmem_putmem_signal_nbi(r.dest, r.source, (size_t)r.count, r.signal, (uint64_t)r.turn + i,
                                  NVSHMEM_SIGNAL_SET, r.peer);
        if (first)
            await(r.signal, (uint64_t)r.turn + i);
    }
    nvshmem_quiet();
}

/* As many puts with signals to the peer, each of which adds 1, and a wait for all of the peer. */
__global__ void burst(row r, int rounds)
{
    for (int i = threadIdx.x; i < rounds; i += blockDim.x)
        nvshmem_putmem_signal_nbi((char *)r.dest + (size_t)i * r.count,
                                  (char *)r.source + (size_t)i * r.count, (size_t)r.count,
                                  r.signal + 1, 1, NVSHMEM_SIGNAL_ADD, r.peer);
    __syncthreads();
    FIRST await(r.signal + 1, (uint64_t)r.turn + rounds);
    FIRST nvshmem_quiet();
}

enum { SPREAD_THREADS = 64, SPREAD_WORDS = 2000 };

/* What PE pe puts into word i, of 2^17, in a turn. */
__device__ int stamp(int turn, int pe, int i)
{
    return (turn << 22) + (pe << 17) + i;
}

/* Each thread puts its words of this turn at the peer, and does not wait. */
__global__ void spread(row r)
{
    const int at = (int)threadIdx.x * SPREAD_WORDS;
    for (int i = 0; i < SPREAD_WORDS; i++)
        r.source[at + i] = stamp(r.turn, r.me, at + i);
    __threadfence_system();
    nvshmem_int_put_nbi(r.dest + at, r.source + at, SPREAD_WORDS, r.peer);
}

/* Counts the words that PE `from` has not put in this turn, among those that a thread reads at
 * `words`. */
__global__ void count_wrong(row r, const int *words, int from)
{
    const int at = (int)threadIdx.x * SPREAD_WORDS;
    int wrong = 0;
    for (int i = 0; i < SPREAD_WORDS; i++)
        wrong += words[at + i] != stamp(r.turn, from, at + i);
    atomicAdd(r.found, wrong);
}

/* Gets the words that this PE's threads have put at the peer. */
__global__ void get_back(row r, int *words)
{
    const int at = (int)threadIdx.x * SPREAD_WORDS;
    nvshmem_int_get(words + at, r.dest + at, SPREAD_WORDS, r.peer);
}

__global__ void end_job()
{
    nvshmem_global_exit(7);
}

/* ------------------------------------------------------------------------ host */

static row r;
static std::vector<int> dest(WORDS), found(64);
static std::string problem;

static int value(int pe, int i)
{
    return (pe + 1) * 1000003 + i * 17 & 0xffffff;
}

static void wrong(const char *what, long at, long is, long want)
{
    if (!problem.empty())
        return;
    char text[160];
    snprintf(text, sizeof text, "%s[%ld] is %ld, not %ld", what, at, is, want);
    problem = text;
}

static void expect(int i, long want)
{
    if (found[i] != want)
        wrong("found", i, found[i], want);
}

static void expect_dest(long i, long want)
{
    if (dest[i] != want)
        wrong("dest", i, dest[i], want);
}

/* Clears dest and words at all PEs, runs a kernel, and fetches what it has left. */
template <class K> static void run(K kernel, int scope)
{
    CHECK(cudaMemset(r.dest, 0, WORDS * sizeof(int)));
    CHECK(cudaMemset(r.found, 0xff, 64 * sizeof(int)));
    CHECK(cudaMemset(r.word, 0, 64 * sizeof(long long)));
    CHECK(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    kernel<<<1, scope == THREAD ? 1 : scope == WARP ? 32 : 256>>>(r);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    CHECK(cudaMemcpy(dest.data(), r.dest, WORDS * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(found.data(), r.found, 64 * sizeof(int), cudaMemcpyDeviceToHost));
    problem.clear();
}

static void report(const char *name, const char *team, int scope, int count)
{
    rows++;
    if (!problem.empty()) {
        failures++;
        printf("FAIL PE %d: %s %s %s %d: %s\n", me, name, team, scope_names[scope], count,
               problem.c_str());
        fflush(stdout);
    }
}

/* The PE of a member of the present team. */
static int member(int i)
{
    return nvshmem_team_translate_pe(r.team, i, NVSHMEM_TEAM_WORLD);
}

#define RUN(name) run(S == THREAD ? name<THREAD> : S == WARP ? name<WARP> : name<BLOCK>, S)

/* The number of threads of a scope. */
static int threads(int S)
{
    return S == THREAD ? 1 : S == WARP ? 32 : 256;
}

/* Reports whether loads and stores reach all PEs. */
static bool reach_all()
{
    for (int pe = 0; pe < n; pe++)
        if (nvshmem_ptr(r.dest, pe) == NULL)
            return false;
    return true;
}

static void point_to_point(int S)
{
    const int left = (me + n - 1) % n;
    r.count = 1000;
    RUN(ptr);
    expect(0, nvshmem_ptr(r.dest, r.peer) != NULL);
    if (nvshmem_ptr(r.dest, left) != NULL)
        expect_dest(3, 1000 + left);
    report("ptr", "", S, 1);
    RUN(p_g);
    expect_dest(1, 10 + left);
    expect_dest(2, 20 + left);
    double half;
    memcpy(&half, &dest[4], sizeof half);
    if (half != 0.5 + left)
        wrong("double", 4, (long)half, left);
    expect(0, value(r.peer, 5));
    report("p, g", "", S, 1);
    for (int count : {1, 7, 1000, (int)MOST}) {
        r.count = count;
        for (int gets = 0; gets < 2; gets++) {
            const int from = gets ? r.peer : left;
            if (gets)
                RUN(get);
            else
                RUN(put);
            for (int i = 0; i < count; i++) {
                expect_dest(i, value(from, i));
                expect_dest(MOST + 1 + i, value(from, i + 1));
            }
            std::vector<int> source(count + 1);
            for (int i = 0; i <= count; i++)
                source[i] = value(from, i);
            if (memcmp((char *)(dest.data() + 2 * MOST + 2) + 1, (char *)source.data() + 2,
                       (size_t)count * 4 - 3) != 0)
                wrong("odd bytes", 0, 0, 1);
            expect_dest(count, 0);
            report(gets ? "get" : "put", "", S, count);
        }
    }
    if (reach_all()) { /* else NVIDIA's device code refuses these calls */
        RUN(strided);
        for (int i = 0; i < 100; i++) {
            expect_dest(3 * i, value(left, 2 * i));
            expect_dest(1000 + 2 * i, value(r.peer, 3 * i));
        }
        expect_dest(1, 0);
        report("strided", "", S, 100);
    }
    r.count = 5000;
    CHECK(cudaMemset(r.signal, 0, 64 * sizeof(uint64_t)));
    for (r.turn = 0; r.turn < 3; r.turn++) {
        RUN(put_signal);
        expect(0, value(left, r.count - 1));
        expect(1, value(left, r.count - 1));
        report("put_signal", "", S, r.turn);
        RUN(signal);
        expect(0, 5 * (r.turn + 1));
        report("signal", "", S, r.turn);
    }
    r.turn = 0;
    RUN(waits);
    if (found[0] < 0 || found[0] > 3)
        wrong("wait_until_any", 0, found[0], 0);
    expect(1, 4);
    expect(2, 1);
    if (found[3] < 0 || found[3] > 3)
        wrong("test_any", 0, found[3], 0);
    expect(4, 1);
    expect(5, 1);
    report("wait, test", "", S, 4);
    RUN(order);
    expect(0, 100);
    report("fence, quiet", "", S, 100);
    RUN(atomics);
    if (me == 0) {
        const int all = n * threads(S);
        expect_dest(0, 2 * all);
        expect_dest(1, all);
        expect_dest(2, 3 * all);
        expect_dest(3, all);
        expect_dest(4, (1 << n) - 1);
        if (S == THREAD)
            expect_dest(5, (1 << n) - 1);
        unsigned long long words[2];
        CHECK(cudaMemcpy(words, r.word, sizeof words, cudaMemcpyDeviceToHost));
        if (words[0] != (unsigned long long)all << 33 || words[1] != 5ull * all)
            wrong("64 bits", 0, (long)words[0], (long)all << 33);
    }
    const int want[] = {11, 11, 12, 13, 13, 13, 1, 1};
    for (int i = 0; i < 8; i++)
        expect(i, want[i]);
    report("atomics", "", S, threads(S));
}

static void collectives(int S, int team, const char *name)
{
    const int size = nvshmem_team_n_pes(team), rank = nvshmem_team_my_pe(team);
    r.team = team;
    r.team_me = rank;
    r.team_n = size;
    if (rank < 0)
        return;
    RUN(teams);
    const int want[] = {me,
                        n,
                        rank,
                        size,
                        nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE),
                        nvshmem_team_n_pes(NVSHMEM_TEAM_SHARED),
                        me,
                        rank,
                        nvshmem_team_n_pes(NVSHMEMX_TEAM_SAME_MYPE_NODE)};
    for (int i = 0; i < 9; i++)
        expect(i, want[i]);
    report("team queries", name, S, 0);
    for (r.turn = 0; r.turn < 2; r.turn++) {
        RUN(sync);
        expect(0, 0);
        report("sync", name, S, 20);
        RUN(barrier);
        expect(0, 0);
        report("barrier", name, S, 20);
    }
    r.turn = 0;
    for (int count : {1, 2, 5, 64, 255, 256, 1000, (int)MOST / 4}) {
        r.count = count;
        RUN(broadcast);
        for (int k = 0; k < COLLECTIVES; k++)
            for (int i = 0; i < count; i++)
                expect_dest(k * MOST + i, value(member((r.turn + k) % size), i + k));
        report("broadcast", name, S, count);
        RUN(fcollect);
        for (int k = 0; k < COLLECTIVES; k++)
            for (int j = 0; j < size; j++)
                for (int i = 0; i < count; i++)
                    expect_dest(k * MOST * 4 + j * count + i, value(member(j), i + k));
        report("fcollect", name, S, count);
        RUN(alltoall);
        for (int k = 0; k < COLLECTIVES; k++)
            for (int j = 0; j < size; j++)
                for (int i = 0; i < count; i++)
                    expect_dest(k * MOST * 4 + j * count + i,
                                value(member(j), rank * count + i + k));
        report("alltoall", name, S, count);
        RUN(reduce);
        for (int i = 0; i < count; i++) {
            int sum[COLLECTIVES] = {0}, most = 0;
            for (int j = 0; j < size; j++) {
                for (int k = 0; k < COLLECTIVES; k++)
                    sum[k] += value(member(j), i + k);
                most = std::max(most, value(member(j), i));
            }
            for (int k = 0; k < COLLECTIVES; k++)
                expect_dest(k * MOST + i, sum[k]);
            expect_dest(3 * MOST + i, most);
            float is;
            memcpy(&is, &dest[4 * MOST + i], sizeof is);
            if (is != (float)(size * (i % 100)))
                wrong("float", i, (long)is, size * (i % 100));
        }
        report("reduce", name, S, count);
        RUN(reducescatter);
        for (int k = 0; k < COLLECTIVES; k++)
            for (int i = 0; i < count; i++) {
                int sum = 0;
                for (int j = 0; j < size; j++)
                    sum += value(member(j), rank * count + i + k);
                expect_dest(k * MOST + i, sum);
            }
        report("reducescatter", name, S, count);
        r.turn++;
    }
    r.turn = 0;
}

/* Puts of one kernel are complete behind a barrier on its stream, and behind a quiet on it. */
static void on_a_stream()
{
    enum { TURNS = 50 };
    const int left = (me + n - 1) % n;
    int *back = r.dest + WORDS / 2;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int quiet = 0; quiet < 2; quiet++) {
        problem.clear();
        CHECK(cudaMemset(r.found, 0, sizeof(int)));
        CHECK(cudaDeviceSynchronize());
        for (r.turn = 1; r.turn <= TURNS; r.turn++) {
            spread<<<1, SPREAD_THREADS, 0, stream>>>(r);
            if (quiet) {
                nvshmemx_quiet_on_stream(stream);
                get_back<<<1, SPREAD_THREADS, 0, stream>>>(r, back);
                count_wrong<<<1, SPREAD_THREADS, 0, stream>>>(r, back, me);
            } else {
                nvshmemx_barrier_all_on_stream(stream);
                count_wrong<<<1, SPREAD_THREADS, 0, stream>>>(r, r.dest, left);
            }
            nvshmemx_barrier_all_on_stream(stream); /* the peer has read this turn's words */
        }
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(found.data(), r.found, sizeof(int), cudaMemcpyDeviceToHost));
        expect(0, 0);
        report(quiet ? "quiet on a stream" : "barrier on a stream", "", THREAD, TURNS);
    }
    r.turn = 0;
    CHECK(cudaStreamDestroy(stream));
}

static void launch()
{
    void *args[] = {&r};
    CHECK(cudaMemset(r.dest, 0, WORDS * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    problem.clear();
    int rc = nvshmemx_collective_launch((const void *)launched, dim3(1), dim3(128), args, 0, 0);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(found.data(), r.found, 64 * sizeof(int), cudaMemcpyDeviceToHost));
    if (rc != 0)
        wrong("collective launch", 0, rc, 0);
    expect(0, 90 + (me + n - 1) % n);
    report("collective launch", "", BLOCK, 128);
}

/* Prints us for a round of ping, and for a burst of 64, between PEs 0 and N - 1. */
static void measure()
{
    enum { ROUNDS = 200, BURST = 64, TRIES = 5 };
    cudaEvent_t begun, ended;
    CHECK(cudaEventCreate(&begun));
    CHECK(cudaEventCreate(&ended));
    const bool plays = me == 0 || me == n - 1;
    r.peer = me == 0 ? n - 1 : 0;
    int pings = 0, bursts = 0;
    for (int count : {8, 1024, 7168, 65536}) {
        float least[2] = {1e9f, 1e9f};
        for (int i = 0; plays && i < TRIES; i++)
            for (int b = 0; b < 2; b++) {
                float ms;
                r.count = count;
                r.turn = b ? bursts : pings;
                CHECK(cudaEventRecord(begun, 0));
                if (b)
                    burst<<<1, BURST>>>(r, BURST);
                else
                    ping<<<1, 1>>>(r, me == 0, ROUNDS);
                CHECK(cudaEventRecord(ended, 0));
                CHECK(cudaEventSynchronize(ended));
                CHECK(cudaEventElapsedTime(&ms, begun, ended));
                (b ? bursts : pings) += b ? BURST : ROUNDS;
                least[b] = std::min(least[b], ms * 1000 / (b ? 1 : ROUNDS));
            }
        nvshmem_barrier_all();
        if (me == 0)
            printf("%d bytes: %.1f us there and back, %.0f us for %d puts\n", count, least[0],
                   least[1], (int)BURST);
        fflush(stdout);
    }
}

static void join(int rank, int pes, const char *file)
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    std::string part = std::string(file) + ".part";
    if (rank == 0) {
        if (nvshmemx_get_uniqueid(&id) != 0)
            exit(2);
        FILE *f = fopen(part.c_str(), "wb");
        if (f == NULL || fwrite(&id, sizeof id, 1, f) != 1 || fclose(f) != 0 ||
            rename(part.c_str(), file) != 0)
            exit(2);
    }
    FILE *f;
    while ((f = fopen(file, "rb")) == NULL)
        usleep(10000);
    if (fread(&id, sizeof id, 1, f) != 1)
        exit(2);
    fclose(f);
    nvshmemx_set_attr_uniqueid_args(rank, pes, &id, &attr);
    nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "rows RANK N FILE [ROUNDS | exit | times]\n");
        return 2;
    }
    int gpus = 0, times = argc > 4 ? atoi(argv[4]) : 1;
    me = atoi(argv[1]);
    CHECK(cudaGetDeviceCount(&gpus));
    CHECK(cudaSetDevice(me % gpus));
    CHECK(cudaFree(NULL));
    join(me, atoi(argv[2]), argv[3]);
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
    int major = 0, minor = 0, patch = 0;
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    if (me == 0)
        printf("PE 0 of %d, %d GPUs, built with %d.%d.%d, run with %d.%d.%d, status %d\n", n, gpus,
               NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION,
               NVSHMEM_VENDOR_PATCH_VERSION, major, minor, patch, nvshmemx_init_status());
    r.me = me;
    r.n = n;
    r.peer = (me + 1) % n;
    r.dest = (int *)nvshmem_malloc(WORDS * sizeof(int));
    r.source = (int *)nvshmem_malloc(WORDS * sizeof(int));
    r.signal = (uint64_t *)nvshmem_calloc(64, sizeof(uint64_t));
    r.word = (unsigned long long *)nvshmem_calloc(64, sizeof(long long));
    CHECK(cudaMalloc(&r.found, 64 * sizeof(int)));
    if (argc > 4 && strcmp(argv[4], "exit") == 0) {
        nvshmem_barrier_all();
        if (me == n - 1)
            end_job<<<1, 1>>>();
        sleep(20);
        printf("FAIL PE %d: the job goes on\n", me);
        return 1;
    }
    if (argc > 4 && strcmp(argv[4], "times") == 0) {
        nvshmem_barrier_all();
        measure();
        nvshmem_finalize();
        return 0;
    }
    std::vector<int> source(WORDS);
    for (int i = 0; i < WORDS; i++) {
        float number = (float)(i % 100);
        if (i < WORDS / 2)
            source[i] = value(me, i);
        else
            memcpy(&source[i], &(number = (float)((i - WORDS / 2) % 100)), sizeof number);
    }
    for (int time = 0; time < times; time++) {
        CHECK(cudaMemcpy(r.source, source.data(), WORDS * sizeof(int), cudaMemcpyHostToDevice));
        nvshmem_team_t all = NVSHMEM_TEAM_INVALID, half = NVSHMEM_TEAM_INVALID;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &all);
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, me % 2, 2, (n + 1 - me % 2) / 2, NULL, 0,
                                   &half);
        for (int S = THREAD; S < SCOPES; S++) {
            point_to_point(S);
            collectives(S, NVSHMEM_TEAM_WORLD, "world");
            collectives(S, all, "all");
            collectives(S, half, "half");
            printf("%s PE %d: %s, %d rows\n", failures ? "FAIL" : "ok", me, scope_names[S], rows);
            fflush(stdout);
        }
        launch();
        on_a_stream();
        nvshmem_team_destroy(half);
        nvshmem_team_destroy(all);
    }
    nvshmem_free(r.word);
    nvshmem_free(r.signal);
    nvshmem_free(r.source);
    nvshmem_free(r.dest);
    nvshmem_finalize();
    printf("PE %d: %d passed, %d failed\n", me, rows - failures, failures);
    return failures != 0;
}
