/*
 * stream: a put in a stream, after the kernel that writes its source.
 */
#include "check.h"

#include <vector>

constexpr int N = 1 << 20;

__global__ void fill(float *at, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        at[i] = value + i % 100;
}

int main()
{
    job j;
    float *from = (float *)nvshmem_malloc(N * sizeof(float));
    float *to = (float *)nvshmem_malloc(N * sizeof(float));
    fill<<<(N + 255) / 256, 256, 0, j.stream>>>(from, 1000.f * j.me);
    nvshmemx_float_put_on_stream(to, from, N, (j.me + 1) % j.n, j.stream);
    nvshmemx_barrier_all_on_stream(j.stream);

    std::vector<float> got(N);
    CHECK(cudaMemcpyAsync(got.data(), to, N * sizeof(float), cudaMemcpyDefault, j.stream));
    CHECK(cudaStreamSynchronize(j.stream));
    int wrong = 0, left = (j.me + j.n - 1) % j.n;
    for (int i = 0; i < N; i++)
        wrong += got[i] != 1000.f * left + i % 100;
    nvshmem_free(from);
    nvshmem_free(to);
    return j.says(wrong == 0, "%d of %d words are wrong", wrong, N);
}
