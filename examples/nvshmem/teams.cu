/*
 * teams: sums over all PEs and over every second one, by a kernel and by a stream.
 */
#include "check.h"

constexpr int N = 1000;

__global__ void sum(nvshmem_team_t team, double *dest, const double *source)
{
    nvshmemx_double_sum_reduce_block(team, dest, source, N);
}

__global__ void fill(double *at, double value)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        at[i] = value + i;
}

/* How many elements are not the sums of the values of PEs first, first + stride, ... */
static int differences(const job &j, const double *at, int first, int stride)
{
    double got[N];
    CHECK(cudaMemcpyAsync(got, at, sizeof got, cudaMemcpyDefault, j.stream));
    CHECK(cudaStreamSynchronize(j.stream));
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        double all = 0;
        for (int pe = first; pe < j.n; pe += stride)
            all += 10. * pe + i;
        wrong += got[i] != all;
    }
    return wrong;
}

int main()
{
    job j;
    double *source = (double *)nvshmem_malloc(N * sizeof(double));
    double *dest = (double *)nvshmem_malloc(N * sizeof(double));
    /* One call makes two teams, of the even and of the odd PEs: each PE passes its own team's. */
    int odd = j.me % 2;
    nvshmem_team_t half;
    if (nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, odd, 2, (j.n + 1 - odd) / 2, NULL, 0, &half))
        nvshmem_global_exit(EXIT_FAILURE);
    fill<<<1, 256, 0, j.stream>>>(source, 10. * j.me);
    nvshmemx_barrier_all_on_stream(j.stream);
    nvshmemx_double_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dest, source, N, j.stream);
    int wrong = differences(j, dest, 0, 1);
    nvshmemx_barrier_all_on_stream(j.stream);
    sum<<<1, 256, 0, j.stream>>>(half, dest, source);
    wrong += differences(j, dest, odd, 2);
    nvshmem_team_destroy(half);
    nvshmem_free(dest);
    nvshmem_free(source);
    return j.says(wrong == 0, "%d sums are wrong", wrong);
}
