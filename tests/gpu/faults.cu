/*
 * faults.cu: makes one call in a kernel that cannot be served; tests/gpu/bad.sh and killed.sh know
 * the expected outcome.
 *
 * shmemrun -n 2 faults WHAT
 */
#include <shmem/shmem.cuh>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "faults: %s: %s\n", #call, cudaGetErrorString(e_));                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

namespace
{

int me, n, other;
uint64_t *word; /* symmetric */

/* One thread of a grid of (3,2,1) blocks of (8,2,2) threads makes the call. */
__device__ bool chosen()
{
    return blockIdx.x == 2 && blockIdx.y == 1 && threadIdx.x == 5 && threadIdx.y == 1 &&
           threadIdx.z == 1;
}

__global__ void wrong_pe(uint64_t *word, int n)
{
    if (chosen())
        shmem_uint64_p(word, 1, n);
}
__global__ void outside(uint64_t *beyond, int other)
{
    if (chosen())
        shmem_uint64_p(beyond, 1, other);
}
__global__ void past_end(uint64_t *word, int other)
{
    if (chosen())
        shmem_putmem(word, word, (size_t)1 << 40, other);
}
__global__ void comparison(uint64_t *word)
{
    if (chosen())
        shmem_uint64_wait_until(word, 42, 0);
}
__global__ void signal_operation(uint64_t *word, int other)
{
    if (chosen())
        shmemx_signal_op(word, 1, 77, other);
}
__global__ void counter(int notify, int other)
{
    if (chosen())
        shmemx_putmem_notify(NULL, NULL, 0, notify, other);
}
__global__ void counter_of_all(int notify, uint64_t *word, int other)
{
    shmemx_putmem_notify_block(word, word, 8, notify, other);
}
__global__ void count(uint64_t least)
{
    if (chosen())
        shmemx_notify_wait(3, least);
}
__global__ void reset(int notify)
{
    if (chosen())
        shmemx_notify_reset(notify, 0);
}
__global__ void team(uint64_t *word)
{
    (void)word;
    if (chosen())
        shmem_team_sync((shmem_team_t)4711);
}
__global__ void of_team(shmem_team_t team)
{
    if (chosen())
        shmem_team_sync(team);
}
__global__ void root(shmem_team_t team, uint64_t *word)
{
    if (chosen())
        shmem_uint64_broadcast(team, word, word, 1, 1);
}
__global__ void by_context(shmem_context ctx, uint64_t *word, int other)
{
    if (chosen())
        shmem_uint64_p(ctx, word, 1, other);
}
__global__ void too_early(uint64_t *word)
{
    if (chosen())
        shmem_uint64_p(word, 1, 0);
}

/* Waits that never end: for a word, at a barrier of all, for room of the ring. */
__global__ void wait_word(uint64_t *word)
{
    shmem_uint64_wait_until(word, SHMEM_CMP_EQ, 99);
}
__global__ void wait_barrier()
{
    shmemx_barrier_all_block();
}
__global__ void wait_answers(uint64_t *word, int other)
{
    for (;;)
        (void)shmem_uint64_atomic_fetch_add(word, 1, other);
}

const dim3 blocks(3, 2, 1), threads(8, 2, 2);

/* Reports whether the launched kernel ended well. */
int finish()
{
    cudaError_t e = cudaDeviceSynchronize();
    if (e == cudaSuccess)
        e = cudaGetLastError();
    printf("faults: the kernel ended: %s\n", cudaGetErrorString(e));
    fflush(stdout);
    /* The library's own message follows, and ends this process. */
    if (e != cudaSuccess)
        sleep(2);
    return e != cudaSuccess;
}

/* PE 1 dies while PE 0, which ignores SIGTERM, waits in a kernel. */
int survive(const char *what)
{
    shmem_barrier_all();
    if (me == 1) {
        usleep(300000);
        kill(getpid(), SIGKILL);
    }
    signal(SIGTERM, SIG_IGN);
    if (strcmp(what, "word") == 0)
        wait_word<<<1, 32>>>(word);
    else if (strcmp(what, "barrier") == 0)
        wait_barrier<<<1, 32>>>();
    else
        wait_answers<<<1, 32>>>(word, other);
    CHECK(cudaGetLastError());
    auto begin = std::chrono::steady_clock::now();
    cudaError_t e = cudaDeviceSynchronize();
    auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                  std::chrono::steady_clock::now() - begin)
                  .count();
    printf("faults: PE %d outlives its kernel, which ended after %d ms: %s\n", me, (int)ms,
           cudaGetErrorString(e));
    fflush(stdout);
    _exit(0);
}

int run(const char *what)
{
    if (strncmp(what, "killed-", 7) == 0)
        return survive(what + 7);
    if (strcmp(what, "wrong-pe") == 0)
        wrong_pe<<<blocks, threads>>>(word, n);
    else if (strcmp(what, "outside") == 0)
        outside<<<blocks, threads>>>(word + ((size_t)1 << 40), other);
    else if (strcmp(what, "past-end") == 0)
        past_end<<<blocks, threads>>>(word, other);
    else if (strcmp(what, "comparison") == 0)
        comparison<<<blocks, threads>>>(word);
    else if (strcmp(what, "signal-operation") == 0)
        signal_operation<<<blocks, threads>>>(word, other);
    else if (strcmp(what, "counter") == 0)
        counter<<<blocks, threads>>>(4096, other);
    else if (strcmp(what, "counter-of-all") == 0)
        counter_of_all<<<blocks, threads>>>(-7, word, other);
    else if (strcmp(what, "notified-pe") == 0)
        counter<<<blocks, threads>>>(3, n);
    else if (strcmp(what, "count") == 0)
        count<<<blocks, threads>>>((uint64_t)1 << 63);
    else if (strcmp(what, "reset-counter") == 0)
        reset<<<blocks, threads>>>(4096);
    else if (strcmp(what, "team") == 0)
        team<<<blocks, threads>>>(word);
    else if (strcmp(what, "team-destroyed") == 0 || strcmp(what, "team-root") == 0) {
        shmem_team_t self, others;
        shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &self, NULL, 0, &others);
        if (strcmp(what, "team-root") == 0) {
            root<<<blocks, threads>>>(self, word);
        } else {
            shmem_team_destroy(self);
            of_team<<<blocks, threads>>>(self);
        }
    } else if (strcmp(what, "no-context") == 0)
        by_context<<<blocks, threads>>>(shmem_context(), word, other);
    else if (strcmp(what, "context-of-another-heap") == 0) {
        shmem_context ctx = shmem_ctx(word);
        ctx.heap += 4096;
        by_context<<<blocks, threads>>>(ctx, word, other);
    } else if (strcmp(what, "after-finalize") == 0) {
        shmem_finalize();
        too_early<<<blocks, threads>>>(word);
    } else if (strcmp(what, "other-gpu") == 0) {
        int own = 0, count = 0;
        CHECK(cudaGetDevice(&own));
        CHECK(cudaGetDeviceCount(&count));
        CHECK(cudaSetDevice((own + 1) % count));
        too_early<<<blocks, threads>>>(word);
    } else if (strcmp(what, "nothing") != 0) {
        fprintf(stderr, "faults: there is no case %s\n", what);
        return 2;
    }
    int rc = finish();
    if (strcmp(what, "nothing") == 0)
        shmem_finalize();
    return rc;
}

} // namespace

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "before-init") == 0) {
        CHECK(cudaMalloc((void **)&word, 64));
        too_early<<<blocks, threads>>>(word);
        return finish();
    }
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    other = (me + 1) % n;
    word = (uint64_t *)shmem_calloc(1, 64);
    return run(what);
}
