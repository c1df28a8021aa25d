/*
 * graph.cu: calls on a stream, captured in a graph that is replayed. Kernels of the graph itself
 * make the data to send, different in each replay, and check the received data.
 *
 * shmemrun -n N graph [replays]
 */
#include "stream.h"

namespace
{

struct board {
    uint64_t replay, bad;
    uint64_t signal;
    float one, sum;
    int mark, got;
};

__global__ void graph_begin(board *b, float *many, int count, int me)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    float now = (float)(b->replay % 1000);
    for (; i < count; i += (int)(gridDim.x * blockDim.x))
        many[i] = now + (float)(i % 7) + (float)me;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        b->one = now + (float)me;
        b->mark = (int)b->replay;
    }
}

/* Compares the received data with the data of all PEs in this replay. */
__global__ void graph_end(board *b, const float *sums, int count, int me, int n)
{
    __shared__ unsigned int bad;
    if (threadIdx.x == 0)
        bad = 0;
    __syncthreads();
    float now = (float)(b->replay % 1000), pes = (float)(n * (n - 1) / 2);
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
        if (sums[i] != (float)n * (now + (float)(i % 7)) + pes)
            atomicAdd(&bad, 1u);
    __syncthreads();
    if (threadIdx.x == 0) {
        if (b->sum != (float)n * now + pes)
            bad++;
        if (b->got != (int)b->replay)
            bad++;
        if (b->signal < b->replay + 1)
            bad++;
        b->bad += bad;
        b->replay++;
    }
}

void graphs(long replays)
{
    const int next = (me + 1) % n, count = 100003;
    board *b = (board *)shmem_calloc(1, sizeof(board));
    float *many = (float *)shmem_calloc(count, sizeof(float));
    float *sums = (float *)shmem_calloc(count, sizeof(float));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    shmem_barrier_all();
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    graph_begin<<<16, 256, 0, stream>>>(b, many, count, me);
    shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, &b->sum, &b->one, 1, stream);
    shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, sums, many, count, stream);
    shmemx_int_put_on_stream(&b->got, &b->mark, 1, next, stream);
    shmemx_quiet_on_stream(stream);
    shmemx_signal_op_on_stream(&b->signal, 1, SHMEM_SIGNAL_ADD, next, stream);
    shmemx_signal_wait_until_on_stream(&b->signal, SHMEM_CMP_GE, 1, stream);
    shmemx_barrier_all_on_stream(stream);
    graph_end<<<1, 512, 0, stream>>>(b, sums, count, me, n);
    shmemx_sync_all_on_stream(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin, stream));
    for (long i = 0; i < replays; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(end, stream));
    done();
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    board got = have<board>(b, 1)[0];
    expect("replays that were counted", got.replay == (uint64_t)replays);
    expect("wrong values in replays: " + std::to_string(got.bad), got.bad == 0);
    expect("signals of replays: " + std::to_string(got.signal), got.signal == (uint64_t)replays);
    if (me == 0)
        printf("a replay of the graph takes %.1f us\n", ms * 1e3 / (double)replays);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    shmem_barrier_all();
    shmem_free(sums);
    shmem_free(many);
    shmem_free(b);
}

} // namespace

int main(int argc, char **argv)
{
    begin();
    graphs(argc > 1 ? atol(argv[1]) : 10000);
    return end();
}
