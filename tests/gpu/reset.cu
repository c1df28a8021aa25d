/*
 * reset.cu: cudaDeviceReset, which ends everything that the process has in the GPU's primary
 * context: kernels, streams, memory of cudaMalloc, pinned memory.
 *
 * shmemrun -n N reset WHEN
 *
 * before: the program calls it before shmem_init. again: after shmem_finalize, and then a second
 * job begins. end: before shmem_finalize, which the program should not do; a second job still
 * begins. used: as end, and the program uses the GPU once more before shmem_finalize, and what it
 * has there then is there after it. inside: it launches a kernel that uses the library, which has
 * no job and stops; tests/gpu/bad.sh tests that.
 */
#include "check.h"

#include <cstdlib>
#include <cstring>

namespace
{

constexpr int WORDS = 1 << 14;

__global__ void send(int *to, int *from, uint64_t *signal, int value)
{
    for (int i = (int)threadIdx.x; i < WORDS; i += (int)blockDim.x)
        from[i] = value + i;
    __syncthreads();
    shmemx_putmem_signal_block(to, from, WORDS * sizeof(int), signal, 1, SHMEM_SIGNAL_ADD,
                               (shmem_my_pe() + 1) % shmem_n_pes());
}

__global__ void receive(const int *to, uint64_t *signal, uint64_t want, int value, int *wrong)
{
    if (threadIdx.x == 0)
        shmem_signal_wait_until(signal, SHMEM_CMP_GE, want);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < WORDS; i += (int)blockDim.x)
        if (to[i] != value + i)
            atomicAdd(wrong, 1);
}

int right, wrong;

void check(bool fine)
{
    (fine ? right : wrong)++;
}

/* One round of a ring: 64 KiB to the next PE, by a kernel. */
void round(int *boxes, uint64_t *signal, uint64_t number)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), *bad, got;
    CHECK(cudaMalloc(&bad, sizeof *bad));
    CHECK(cudaMemset(bad, 0, sizeof *bad));
    send<<<1, 256>>>(boxes, boxes + WORDS, signal, 1000 * me + (int)number);
    receive<<<1, 256>>>(boxes, signal, number, 1000 * ((me + n - 1) % n) + (int)number, bad);
    CHECK(cudaMemcpy(&got, bad, sizeof got, cudaMemcpyDefault));
    CHECK(cudaFree(bad));
    check(got == 0);
    shmem_barrier_all();
}

void job(const char *when)
{
    shmem_init();
    int *boxes = (int *)shmem_malloc(2 * WORDS * sizeof *boxes);
    uint64_t *signal = (uint64_t *)shmem_calloc(1, sizeof *signal);
    if (boxes == nullptr || signal == nullptr)
        shmem_global_exit(1);
    shmem_barrier_all();
    round(boxes, signal, 1);
    round(boxes, signal, 2);
    bool inside = strcmp(when, "inside") == 0, used = strcmp(when, "used") == 0;
    if (inside || used || strcmp(when, "end") == 0)
        CHECK(cudaDeviceReset());
    if (inside)
        round(boxes, signal, 3);
    int *own = nullptr, got = 0;
    if (used) {
        CHECK(cudaMalloc(&own, 1 << 20));
        CHECK(cudaMemset(own, 1, 1 << 20));
        CHECK(cudaDeviceSynchronize());
    }
    shmem_finalize();
    if (used) {
        check(cudaMemcpy(&got, own, sizeof got, cudaMemcpyDefault) == cudaSuccess &&
              got == 0x01010101);
        check(cudaFree(own) == cudaSuccess);
    }
}

} // namespace

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "before";
    if (strcmp(when, "before") == 0) {
        CHECK(cudaFree(nullptr));
        CHECK(cudaDeviceReset());
    }
    job(when);
    if (strcmp(when, "again") == 0)
        CHECK(cudaDeviceReset());
    if (strcmp(when, "before") != 0)
        job("again");
    printf("reset %s: %d passed, %d failed\n", when, right, wrong);
    return wrong != 0;
}
