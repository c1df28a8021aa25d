/*
 * graph: a step of a computation with its exchange is captured once and replayed.
 */
#include "check.h"

constexpr int STEPS = 40;

__global__ void add(long *value, const long *from)
{
    *value += *from;
}

int main()
{
    job j;
    /* A step puts value into from at the next PE, and then adds from, which the previous PE has
     * written, to value. */
    long *value = (long *)nvshmem_malloc(sizeof(long));
    long *from = (long *)nvshmem_malloc(sizeof(long)), first = 1, got;
    CHECK(cudaMemcpyAsync(value, &first, sizeof first, cudaMemcpyDefault, j.stream));
    nvshmemx_barrier_all_on_stream(j.stream);
    CHECK(cudaStreamSynchronize(j.stream));

    cudaGraph_t graph;
    cudaGraphExec_t step;
    /* ThreadLocal: a capture in the global mode makes CUDA refuse many calls of other threads. */
    CHECK(cudaStreamBeginCapture(j.stream, cudaStreamCaptureModeThreadLocal));
    nvshmemx_long_put_on_stream(from, value, 1, (j.me + 1) % j.n, j.stream);
    nvshmemx_barrier_all_on_stream(j.stream);
    add<<<1, 1, 0, j.stream>>>(value, from);
    nvshmemx_barrier_all_on_stream(j.stream);
    CHECK(cudaStreamEndCapture(j.stream, &graph));
    CHECK(cudaGraphInstantiate(&step, graph, 0));
    for (int i = 0; i < STEPS; i++)
        CHECK(cudaGraphLaunch(step, j.stream));
    CHECK(cudaMemcpyAsync(&got, value, sizeof got, cudaMemcpyDefault, j.stream));
    CHECK(cudaStreamSynchronize(j.stream));
    CHECK(cudaGraphExecDestroy(step));
    CHECK(cudaGraphDestroy(graph));
    /* All values begin as 1, so each step doubles all of them. */
    long all = 1L << STEPS;
    nvshmem_free(from);
    nvshmem_free(value);
    return j.says(got == all, "%ld after the last step", got);
}
