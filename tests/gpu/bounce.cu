/*
 * bounce.cu: puts, gets and puts with signal on CUDA streams whose operands are memory of
 * cudaMalloc and managed memory, which go through bounce buffers. The program uses more streams at
 * once than there are buffers, all sizes and alignments, and a graph.
 *
 * shmemrun -n N bounce
 */
#include "stream.h"

namespace
{

constexpr size_t MOST = (3 << 20) + 77; /* more than a kernel's blocks hold in buffers at once */
constexpr int STREAMS = 8;              /* with up to 4 blocks each, and there are 15 buffers */

__host__ __device__ unsigned char content(int pe, int salt, size_t at)
{
    uint32_t x = (uint32_t)pe * 0x9e3779b9u + (uint32_t)salt * 0x85ebca6bu + (uint32_t)at;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    return (unsigned char)(x >> 13);
}

__global__ void fill(unsigned char *p, size_t bytes, int pe, int salt)
{
    for (size_t i = threadIdx.x; i < bytes; i += blockDim.x)
        p[i] = content(pe, salt, i);
}

__global__ void compare(const unsigned char *p, size_t bytes, int pe, int salt, unsigned *bad)
{
    for (size_t i = threadIdx.x; i < bytes; i += blockDim.x)
        if (p[i] != content(pe, salt, i))
            atomicAdd(bad, 1u);
}

/* Each stream has a box of the heap, ordinary memory of the program, and a signal. */
struct stream_buffers {
    cudaStream_t stream;
    unsigned char *box, *source, *dest;
    uint64_t *signal;
    unsigned *bad;
};

stream_buffers open(bool managed)
{
    stream_buffers l;
    CHECK(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
    l.box = (unsigned char *)shmem_malloc(MOST);
    l.signal = (uint64_t *)shmem_calloc(1, sizeof *l.signal);
    for (unsigned char **p : {&l.source, &l.dest}) {
        if (managed)
            CHECK(cudaMallocManaged((void **)p, MOST + 16));
        else
            CHECK(cudaMalloc((void **)p, MOST + 16));
    }
    CHECK(cudaMalloc((void **)&l.bad, sizeof *l.bad));
    CHECK(cudaMemset(l.bad, 0, sizeof *l.bad));
    return l;
}

/* Sends to the right neighbour with a signal, checks the data of the left one, and gets from the
 * right neighbour the data that this PE sent there. turn counts the calls on this lane. */
void exchange(const stream_buffers &l, size_t bytes, size_t odd, int salt, uint64_t turn,
              bool apart)
{
    const int right = (me + 1) % n, left = (me + n - 1) % n;
    unsigned char *source = l.source + odd, *dest = l.dest + odd;
    fill<<<1, 256, 0, l.stream>>>(source, bytes, me, salt);
    if (apart) {
        shmemx_putmem_nbi_on_stream(l.box, source, bytes, right, l.stream);
        shmemx_quiet_on_stream(l.stream);
        shmemx_signal_op_on_stream(l.signal, turn, SHMEM_SIGNAL_SET, right, l.stream);
    } else {
        shmemx_putmem_signal_on_stream(l.box, source, bytes, l.signal, turn, SHMEM_SIGNAL_SET,
                                       right, l.stream);
    }
    /* The source may be written again after the put. */
    fill<<<1, 256, 0, l.stream>>>(source, bytes, me, salt + 1);
    shmemx_signal_wait_until_on_stream(l.signal, SHMEM_CMP_GE, turn, l.stream);
    compare<<<1, 256, 0, l.stream>>>(l.box, bytes, left, salt, l.bad);
    shmemx_quiet_on_stream(l.stream);
    shmemx_getmem_on_stream(dest, l.box, bytes, right, l.stream);
    compare<<<1, 256, 0, l.stream>>>(dest, bytes, me, salt, l.bad);
}

void check(const stream_buffers &l, const std::string &what)
{
    unsigned bad = 0;
    CHECK(cudaMemcpyAsync(&bad, l.bad, sizeof bad, cudaMemcpyDefault, l.stream));
    CHECK(cudaMemsetAsync(l.bad, 0, sizeof bad, l.stream));
    CHECK(cudaStreamSynchronize(l.stream));
    expect(what + ": " + std::to_string(bad) + " bytes are wrong", bad == 0);
}

} /* namespace */

int main()
{
    shmem_init();
    me = shmem_my_pe(), n = shmem_n_pes();
    std::vector<stream_buffers> lanes;
    for (int i = 0; i < STREAMS; i++)
        lanes.push_back(open(i == STREAMS - 1));
    std::vector<uint64_t> turns(STREAMS, 0);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    shmem_barrier_all();

    stage("one at a time");
    const size_t sizes[] = {1, 16, 17, 2049, 4096, 131072, 131073, 655361, MOST};
    for (size_t bytes : sizes)
        for (size_t odd : {0, 1, 4})
            for (int i : {0, STREAMS - 1}) {
                exchange(lanes[i], bytes, odd, (int)bytes + i, ++turns[i], odd == 1);
                check(lanes[i], std::to_string(bytes) + " bytes, " + std::to_string(odd) +
                                    " behind, " + (i == 0 ? "cudaMalloc" : "managed"));
                /* The neighbour gets from this PE's box. */
                shmem_barrier_all();
            }

    stage("all at once");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < STREAMS; i++)
            exchange(lanes[i], MOST - (size_t)i, (size_t)i, round * 100 + i, ++turns[i], i % 2);
        for (int i = 0; i < STREAMS; i++)
            check(lanes[i], "all at once, stream " + std::to_string(i));
        shmem_barrier_all();
    }

    stage("in a graph");
    {
        stream_buffers &l = lanes[1];
        cudaGraph_t graph;
        cudaGraphExec_t run;
        const int right = (me + 1) % n, left = (me + n - 1) % n;
        CHECK(cudaStreamBeginCapture(l.stream, cudaStreamCaptureModeThreadLocal));
        fill<<<1, 256, 0, l.stream>>>(l.source, 300001, me, 7);
        shmemx_putmem_on_stream(l.box, l.source, 300001, right, l.stream);
        shmemx_barrier_all_on_stream(l.stream);
        compare<<<1, 256, 0, l.stream>>>(l.box, 300001, left, 7, l.bad);
        shmemx_getmem_on_stream(l.dest, l.box, 300001, right, l.stream);
        compare<<<1, 256, 0, l.stream>>>(l.dest, 300001, me, 7, l.bad);
        shmemx_barrier_all_on_stream(l.stream);
        CHECK(cudaStreamEndCapture(l.stream, &graph));
        CHECK(cudaGraphInstantiate(&run, graph, 0));
        for (int i = 0; i < 20; i++)
            CHECK(cudaGraphLaunch(run, l.stream));
        check(l, "20 replays of a graph");
        CHECK(cudaGraphExecDestroy(run));
        CHECK(cudaGraphDestroy(graph));
    }
    shmem_barrier_all();
    printf("bounce: PE %d: %d passed, %d failed\n", me, right, wrong);
    shmem_finalize();
    return wrong != 0;
}
