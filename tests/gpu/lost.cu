/*
 * lost.cu: a PE is killed while kernels of the others wait for it. Their kernels end, and after
 * shmemx_failure_ack kernels of the survivors wait for each other again, put and signal; so do
 * their streams and hosts, and a team of them.
 *
 * SHMEM_ON_FAILURE=return shmemrun -n 3 lost VICTIM BLOCKS
 */
#include <shmem/shmem.cuh>
#include <shmemx.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "lost: %s: %s\n", #call, cudaGetErrorString(e_));                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

namespace
{

enum { WORDS = 1 << 14, ROUNDS = 50 };

int me, n, victim, next, last, right, wrong;
uint64_t *never, *signal_word, *data; /* symmetric */

void expect(bool good, const char *what, long got = 0)
{
    if (good) {
        right++;
        return;
    }
    wrong++;
    printf("lost: PE %d: not so: %s (%ld)\n", me, what, got);
}

/* A thread that reaches this point was not ended by a loss. */
__global__ void wait_forever(uint64_t *never, unsigned *passed)
{
    shmem_uint64_wait_until(never, SHMEM_CMP_NE, 0);
    atomicAdd(passed, 1);
}

__global__ void meet_all(unsigned *passed, int waiter)
{
    shmemx_barrier_all_block();
    if ((int)threadIdx.x == waiter)
        atomicAdd(passed, 1);
}

__global__ void meet_team(shmem_team_t team, uint64_t *data, unsigned *passed)
{
    int status = shmemx_team_sync_block(team);
    status |= shmemx_uint64_sum_reduce_block(team, data + 1, data, 1);
    if (threadIdx.x == 0 && status == 0)
        atomicAdd(passed, 1);
}

__global__ void fetch(uint64_t *from, int pe, uint64_t *value)
{
    *value = shmem_uint64_g(from, pe);
}

/* One block: sends its data to the next survivor, and waits for that of the previous one. */
__global__ void pass_on(uint64_t *data, uint64_t *signal_word, uint64_t round, int me, int next,
                        int last, unsigned *bad)
{
    uint64_t *mine = data, *theirs = data + WORDS;
    for (int i = (int)threadIdx.x; i < WORDS; i += (int)blockDim.x)
        mine[i] = (uint64_t)me << 48 | round << 24 | (uint64_t)i;
    __syncthreads();
    shmemx_putmem_signal_block(theirs, mine, WORDS * sizeof *mine, signal_word, round,
                               SHMEM_SIGNAL_SET, next);
    if (threadIdx.x == 0)
        shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, round);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < WORDS; i += (int)blockDim.x)
        if (theirs[i] != ((uint64_t)last << 48 | round << 24 | (uint64_t)i))
            atomicAdd(bad, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        shmem_quiet();
}

int survivor(int from, int step)
{
    do
        from = (from + step + n) % n;
    while (from == victim);
    return from;
}

/* The time of a launched kernel. */
long ended()
{
    auto begin = std::chrono::steady_clock::now();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return (long)std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now() - begin)
        .count();
}

unsigned take(unsigned *counter)
{
    unsigned value = 0;
    CHECK(cudaMemcpy(&value, counter, sizeof value, cudaMemcpyDefault));
    CHECK(cudaMemset(counter, 0, sizeof value));
    CHECK(cudaDeviceSynchronize());
    return value;
}

} // namespace

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    victim = argc > 1 ? atoi(argv[1]) : 1;
    int blocks = argc > 2 ? atoi(argv[2]) : 20000;
    next = survivor(me, 1);
    last = survivor(me, -1);
    never = (uint64_t *)shmem_calloc(1, sizeof *never);
    signal_word = (uint64_t *)shmem_calloc(2, sizeof *signal_word);
    data = (uint64_t *)shmem_calloc(2 * WORDS, sizeof *data);
    unsigned *counter;
    uint64_t *value;
    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMalloc(&value, sizeof *value));
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    /* Kernels reach a heap in main memory through rings. */
    bool direct = getenv("SHMEM_HEAP") == NULL;
    for (int pe = 0; pe < n; pe++)
        direct = direct && shmem_ptr(never, pe) != NULL;
    shmem_barrier_all();
    if (me == victim) {
        usleep(500000);
        kill(getpid(), SIGKILL);
        pause();
    }

    /* With more blocks than the GPU holds at once: blocks that begin after the loss end, too. */
    wait_forever<<<blocks, 64>>>(never, counter);
    long ms = ended();
    printf("lost: PE %d: the kernel ended after %ld ms\n", me, ms);
    expect(ms < 5500, "a kernel that waits ends within 5 s of the loss", ms);
    unsigned passed = take(counter);
    expect(passed == 0, "no thread passes a wait for a lost PE", passed);
    while (shmem_pe_accessible(victim))
        usleep(1000);
    wait_forever<<<1, 32>>>(never, counter);
    ms = ended();
    expect(ms < 1000, "a wait that begins after the loss ends", ms);
    passed = take(counter);
    expect(passed == 0, "no thread passes it", passed);

    int lost = shmemx_failure_ack();
    expect(lost == 1, "one PE is lost", lost);
    /* Other PEs may not have acknowledged yet; this PE's call does not end their waits, and puts
     * to them wait in their memory. */
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        /* The data of a round may be overwritten when the next PE has read it. */
        pass_on<<<1, 256>>>(data, signal_word, round, me, next, last, counter);
        ended();
        unsigned bad = take(counter);
        if (bad)
            printf("lost: PE %d: round %lu\n", me, (unsigned long)round);
        expect(bad == 0, "words of the PE before are there", bad);
        shmem_uint64_p(signal_word + 1, round, last);
        shmem_uint64_wait_until(signal_word + 1, SHMEM_CMP_GE, round);
        (void)shmemx_last_error();
    }

    /* Directly, thread i waits for PE i; with rings the first one waits for all. */
    meet_all<<<1, 64>>>(counter, direct ? victim : 0);
    ms = ended();
    expect(ms < 1000, "a barrier of all ends", ms);
    passed = take(counter);
    expect(passed == 0, "a thread that waits for the lost PE does not pass it", passed);
    fetch<<<1, 1>>>(never, victim, value);
    ms = ended();
    expect(ms < 1000, "a fetch from the lost PE ends", ms);

    /* Streams, and the host. */
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    shmemx_putmem_signal_on_stream(data + WORDS, data, 4096, signal_word, ROUNDS + 1,
                                   SHMEM_SIGNAL_SET, next, stream);
    shmemx_signal_wait_until_on_stream(signal_word, SHMEM_CMP_GE, ROUNDS + 1, stream);
    CHECK(cudaStreamSynchronize(stream));
    uint64_t got = 0;
    shmem_getmem(&got, data + 7, sizeof got, next);
    expect(got == ((uint64_t)next << 48 | (uint64_t)ROUNDS << 24 | 7), "a get of the host's",
           (long)got);
    (void)shmemx_last_error();
    shmem_uint64_p(never, 1, victim);
    expect(shmemx_last_error() == SHMEMX_ERROR_PE_LOST, "a put to the lost PE is an error");

    shmem_team_t team;
    expect(shmemx_team_survivors(SHMEM_TEAM_WORLD, &team) == 0, "a team of survivors");
    expect(shmem_team_n_pes(team) == n - 1, "its size", shmem_team_n_pes(team));
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t mine = (uint64_t)me, sum = 0;
        CHECK(cudaMemcpy(data, &mine, sizeof mine, cudaMemcpyDefault));
        CHECK(cudaDeviceSynchronize());
        expect(shmem_uint64_sum_reduce(team, data + WORDS, data, 1) == 0, "a sum of the team");
        CHECK(cudaMemcpy(&sum, data + WORDS, sizeof sum, cudaMemcpyDefault));
        expect(sum == (uint64_t)(n * (n - 1) / 2 - victim), "its value", (long)sum);
        expect(shmem_team_sync(team) == 0, "a sync of the team");
        meet_team<<<1, 64>>>(team, data, counter);
        ended();
        passed = take(counter);
        expect(passed == 1, "kernels of the team meet", passed);
        CHECK(cudaMemcpy(&sum, data + 1, sizeof sum, cudaMemcpyDefault));
        expect(sum == (uint64_t)(n * (n - 1) / 2 - victim), "their sum", (long)sum);
        expect(shmem_team_sync(team) == 0, "a sync of the team");
    }
    expect(shmemx_team_sync_on_stream(team, stream) == 0, "a sync of the team's streams");
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(counter));
    CHECK(cudaFree(value));
    shmem_finalize();
    printf("lost: PE %d of %d: %d passed, %d failed\n", me, n, right, wrong);
    return wrong != 0;
}
