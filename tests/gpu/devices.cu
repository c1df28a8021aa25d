/*
 * devices.cu: a process with two GPUs, of which the PE has one. Buffers of the other one are local
 * operands of host calls. A kernel there that makes a call is stopped, which ends the process:
 * tests/gpu/bad.sh tests that.
 *
 * shmemrun -n 2 devices
 */
#include "stream.h"

namespace
{

const size_t count = 100000;

__global__ void put(int *to, int value, int pe)
{
    shmem_int_p(to, value, pe);
    shmem_quiet();
}

std::vector<int> values_of(int pe, int salt)
{
    std::vector<int> v(count);
    for (size_t i = 0; i < count; i++)
        v[i] = (int)i * 7 + pe * 3 + salt;
    return v;
}

/* Both ends of a put and of a get; the local one is in the memory of a GPU. */
void local(const std::string &what, int own, int gpu, int *place)
{
    int *buffer, next = (me + 1) % n, before = (me + n - 1) % n;
    std::vector<int> got(count), mine = values_of(me, gpu + 1), theirs = values_of(me, 100);
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaMalloc((void **)&buffer, count * sizeof(int)));
    CHECK(cudaSetDevice(own));
    CHECK(cudaMemcpy(buffer, mine.data(), count * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaDeviceSynchronize());
    shmem_int_put(place, buffer, count, next);
    shmem_barrier_all();
    shmem_int_get(got.data(), place, count, me);
    bool good = true;
    for (size_t i = 0; i < count; i++) /* the PEs' other GPUs have other numbers */
        good = good && got[i] - got[0] == (int)i * 7 && got[0] > before * 3 &&
               got[0] <= before * 3 + 64;
    expect(what + " is the source of a put", good);
    shmem_barrier_all();
    shmem_int_put(place, theirs.data(), count, me);
    shmem_barrier_all();
    shmem_int_get(buffer, place, count, next);
    CHECK(cudaMemcpy(got.data(), buffer, count * sizeof(int), cudaMemcpyDefault));
    expect(what + " is the destination of a get", got == values_of(next, 100));
    shmem_barrier_all();
    CHECK(cudaFree(buffer));
}

/* The PE's own GPU still serves kernels. */
void own_kernel(const char *what, int *place, int value)
{
    int next = (me + 1) % n, before = (me + n - 1) % n;
    shmem_barrier_all();
    put<<<1, 1, 0, stream>>>(place, value + me, next);
    CHECK(cudaGetLastError());
    done();
    shmem_barrier_all();
    expect(what, shmem_int_g(place, me) == value + before);
    shmem_barrier_all();
}

} // namespace

int main(void)
{
    int gpus = 0, own = 0;
    begin();
    CHECK(cudaGetDeviceCount(&gpus));
    CHECK(cudaGetDevice(&own));
    int other = (own + 1) % gpus;
    int *place = (int *)shmem_calloc(count, sizeof(int));
    own_kernel("a kernel of the PE's GPU", place, 10);
    local("memory of the PE's GPU", own, own, place);
    if (gpus > 1) {
        local("memory of the other GPU", own, other, place);
        own_kernel("a kernel of the PE's GPU afterwards", place, 30);
    } else {
        printf("PE %d: there is no second GPU to try\n", me);
    }
    shmem_free(place);
    return end();
}
