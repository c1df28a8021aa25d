/*
 * large.cu: transfers of more than 4 GiB, so that a length or offset in 32 bits anywhere on their
 * path is noticed: each a single call, of a kernel, of the host, on a stream. Every byte is
 * checked, and those behind the last.
 *
 * shmemrun -n 2 -x SHMEM_SYMMETRIC_SIZE=12g large
 */
#include "stream.h"

namespace
{

const size_t bytes = ((size_t)4 << 30) + 24;
const size_t words = bytes / 8, guard = 8; /* words */

struct place {
    uint64_t *from, *to;       /* symmetric */
    unsigned long long *wrong; /* pinned */
} place;

/* The expected word of this number. */
__device__ uint64_t value(size_t i, uint64_t salt)
{
    return (i + salt) * 0x9e3779b97f4a7c15ull ^ i;
}

__global__ void fill(uint64_t *at, size_t n, uint64_t salt)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        at[i] = value(i, salt);
}

/* Counts words that are not those of salt; behind n there must be zeros. */
__global__ void look(const uint64_t *at, size_t n, size_t behind, uint64_t salt,
                     unsigned long long *wrong)
{
    unsigned long long bad = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n + behind;
         i += (size_t)gridDim.x * blockDim.x)
        bad += at[i] != (i < n ? value(i, salt) : 0);
    if (bad != 0)
        atomicAdd_system(wrong, bad);
}

__global__ void put_block(uint64_t *to, const uint64_t *from, size_t n, int pe)
{
    shmemx_putmem_block(to, from, n, pe);
    shmem_quiet();
}
__global__ void put_nbi_block(uint64_t *to, const uint64_t *from, size_t n, int pe)
{
    shmemx_uint64_put_nbi_block(to, from, n / 8, pe);
    shmem_quiet();
}
__global__ void get_block(uint64_t *to, const uint64_t *from, size_t n, int pe)
{
    shmemx_getmem_block(to, from, n, pe);
}
__global__ void put_signal_block(uint64_t *to, const uint64_t *from, size_t n, uint64_t *signal,
                                 uint64_t value, int pe)
{
    shmemx_putmem_signal_block(to, from, n, signal, value, SHMEM_SIGNAL_SET, pe);
    shmem_quiet();
}

uint64_t salt_of(int pe, uint64_t round)
{
    return ((uint64_t)pe << 40) + (round << 50);
}

/*
 * All PEs make the call, to or from the next. The received data has the source's salt; for a signal
 * only words behind the wait count.
 */
template <class CALL> void way(const char *what, bool put, CALL call)
{
    static uint64_t round;
    round++;
    int next = (me + 1) % n, before = (me + n - 1) % n;
    fill<<<256, 512, 0, stream>>>(place.from, words, salt_of(me, round));
    CHECK(cudaGetLastError());
    CHECK(cudaMemsetAsync(place.to, 0, bytes + 8 * guard, stream));
    done();
    shmem_barrier_all();
    auto begin = std::chrono::steady_clock::now();
    call(next, round);
    done();
    std::chrono::duration<double> s = std::chrono::steady_clock::now() - begin;
    shmem_barrier_all();
    *place.wrong = 0;
    look<<<256, 512, 0, stream>>>(place.to, words, guard, salt_of(put ? before : next, round),
                                  place.wrong);
    CHECK(cudaGetLastError());
    done();
    if (*place.wrong != 0)
        printf("PE %d: %s: %llu of %zu words are wrong\n", me, what, *place.wrong, words);
    expect(what, *place.wrong == 0);
    if (me == 0)
        printf("%-28s %.3f s, %.1f GB/s\n", what, s.count(), (double)bytes / s.count() / 1e9);
    fflush(stdout);
    shmem_barrier_all();
}

void kernels()
{
    way("put of a block", true, [](int next, uint64_t) {
        put_block<<<1, 1024, 0, stream>>>(place.to, place.from, bytes, next);
    });
    way("put_nbi of a block", true, [](int next, uint64_t) {
        put_nbi_block<<<1, 1024, 0, stream>>>(place.to, place.from, bytes, next);
    });
    way("get of a block", false, [](int next, uint64_t) {
        get_block<<<1, 1024, 0, stream>>>(place.to, place.from, bytes, next);
    });
    uint64_t *signal = (uint64_t *)shmem_calloc(1, sizeof *signal);
    way("put with signal of a block", true, [=](int next, uint64_t round) {
        put_signal_block<<<1, 1024, 0, stream>>>(place.to, place.from, bytes, signal, round, next);
        shmem_signal_wait_until(signal, SHMEM_CMP_EQ, round);
    });
    shmem_free(signal);
}

void host()
{
    way("put of the host", true,
        [](int next, uint64_t) { shmem_putmem(place.to, place.from, bytes, next); });
    way("get of the host", false,
        [](int next, uint64_t) { shmem_getmem(place.to, place.from, bytes, next); });
    way("put_nbi of the host", true, [](int next, uint64_t) {
        shmem_uint64_put_nbi(place.to, place.from, words, next);
        shmem_quiet();
    });
}

void streams()
{
    way("put on a stream", true, [](int next, uint64_t) {
        shmemx_putmem_on_stream(place.to, place.from, bytes, next, stream);
        shmemx_quiet_on_stream(stream);
    });
    way("get on a stream", false, [](int next, uint64_t) {
        shmemx_getmem_on_stream(place.to, place.from, bytes, next, stream);
    });
}

} // namespace

int main(void)
{
    begin();
    CHECK(cudaHostAlloc((void **)&place.wrong, sizeof *place.wrong, cudaHostAllocMapped));
    place.from = (uint64_t *)shmem_malloc(bytes);
    place.to = (uint64_t *)shmem_malloc(bytes + 8 * guard);
    if (place.from == nullptr || place.to == nullptr) {
        printf("large: two blocks of %zu bytes do not fit (raise SHMEM_SYMMETRIC_SIZE)\n", bytes);
        shmem_global_exit(1);
    }
    kernels();
    host();
    streams();
    shmem_free(place.to);
    shmem_free(place.from);
    return end();
}
