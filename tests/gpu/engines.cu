/*
 * engines.cu: which of the driver's calls are done while a kernel of the same
 * context occupies every multiprocessor. Between two places of one GPU the driver
 * may copy by a kernel of its own, and fills memory by one: those wait for a free
 * place, and for ever where the kernel waits for them. A row for each call, with
 * what it did for each size, how long the call itself takes and how fast it copies
 * on a GPU that is idle. Then a graph that was captured from the call.
 *
 * The last line counts the calls that the library relies on, which are those
 * marked with *: they have to be done, and to be right.
 */
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "engines: %s: %s\n", #call, cudaGetErrorString(e_));                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define NEED(call)                                                                                 \
    do {                                                                                           \
        CUresult r_ = (call);                                                                      \
        if (r_ != CUDA_SUCCESS) {                                                                  \
            fprintf(stderr, "engines: %s: error %d\n", #call, (int)r_);                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

namespace
{

using clock_type = std::chrono::steady_clock;

struct flags {
    volatile unsigned running, stop;
};

/* With all the shared memory that a block can have, so that nothing fits beside it. */
__global__ void __launch_bounds__(1024) occupy(flags *f)
{
    extern __shared__ char taken[];
    if (threadIdx.x == 0) {
        taken[0] = 0;
        atomicAdd_system((unsigned *)&f->running, 1u);
    }
    while (f->stop == 0)
        ;
}

template <typename F> F driver(const char *name, unsigned version, F)
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaError_t e = cudaGetDriverEntryPointByVersion(name, &f, version, cudaEnableDefault, &found);
    return e == cudaSuccess && found == cudaDriverEntryPointSuccess ? reinterpret_cast<F>(f)
                                                                    : nullptr;
}
#define DRIVER(name, version) driver(#name, version, &name)

const size_t room = 64 << 20;
const int usual = 16, both = 2 * usual; /* streams: of the usual priority, and with those of the highest */

int blocks, shared;
CUcontext context;
flags *f, *f_gpu;
cudaStream_t streams[both], stream, busy;
CUdeviceptr to, from, mapped, again, peer; /* again: a second mapping of mapped */
char *pinned;

auto copy_any = DRIVER(cuMemcpyAsync, 4000);
auto copy_device = DRIVER(cuMemcpyDtoDAsync, 3020);
auto copy_peer = DRIVER(cuMemcpyPeerAsync, 4000);
auto copy_2d = DRIVER(cuMemcpy2DAsync, 3020);
auto copy_3d = DRIVER(cuMemcpy3DAsync, 3020);
auto copy_3d_peer = DRIVER(cuMemcpy3DPeerAsync, 4000);
auto copy_batch = DRIVER(cuMemcpyBatchAsync, 13000);
auto copy_batch_3d = DRIVER(cuMemcpy3DBatchAsync, 13000);
auto fill8 = DRIVER(cuMemsetD8Async, 3020);
auto fill32 = DRIVER(cuMemsetD32Async, 3020);
auto write64 = DRIVER(cuStreamWriteValue64, 12000);

/* Of CUDA 12.8, before an argument went away. */
using batch_first = CUresult (*)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t,
                                 CUmemcpyAttributes *, size_t *, size_t, size_t *, CUstream);
batch_first copy_batch_first;

using call = std::function<CUresult(CUdeviceptr to, CUdeviceptr from, size_t n)>;

CUresult batch(CUdeviceptr t, CUdeviceptr s, size_t n, unsigned how)
{
    CUmemcpyAttributes a = {};
    a.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    a.flags = how;
    size_t first = 0;
    return copy_batch(&t, &s, &n, 1, &a, &first, 1, stream);
}

CUresult batch12(CUdeviceptr t, CUdeviceptr s, size_t n)
{
    CUmemcpyAttributes a = {};
    a.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    a.flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
    size_t first = 0, bad = 0;
    return copy_batch_first(&t, &s, &n, 1, &a, &first, 1, &bad, stream);
}

CUresult batch_3d(CUdeviceptr t, CUdeviceptr s, size_t n)
{
    CUDA_MEMCPY3D_BATCH_OP op = {};
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = s;
    op.dst.op.ptr.ptr = t;
    op.extent = {n, 1, 1};
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    op.flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
    return copy_batch_3d(1, &op, 0, stream);
}

/* As rows, where there are some. */
CUresult flat(CUdeviceptr t, CUdeviceptr s, size_t n)
{
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = s;
    c.dstDevice = t;
    c.WidthInBytes = n < 512 ? n : 512;
    c.Height = n / c.WidthInBytes;
    c.srcPitch = c.dstPitch = c.WidthInBytes;
    return copy_2d(&c, stream);
}

CUresult deep(CUdeviceptr t, CUdeviceptr s, size_t n)
{
    CUDA_MEMCPY3D c = {};
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = s;
    c.dstDevice = t;
    c.WidthInBytes = n < 512 ? n : 512;
    c.Height = n / c.WidthInBytes;
    c.Depth = 1;
    c.srcPitch = c.dstPitch = c.WidthInBytes;
    c.srcHeight = c.dstHeight = c.Height;
    return copy_3d(&c, stream);
}

CUresult deep_peer(CUdeviceptr t, CUdeviceptr s, size_t n)
{
    CUDA_MEMCPY3D_PEER c = {};
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcContext = c.dstContext = context;
    c.srcDevice = s;
    c.dstDevice = t;
    c.WidthInBytes = n;
    c.Height = c.Depth = 1;
    c.srcPitch = c.dstPitch = n;
    c.srcHeight = c.dstHeight = 1;
    return copy_3d_peer(&c, stream);
}

CUresult by_pinned(CUdeviceptr t, CUdeviceptr s, size_t n)
{
    CUresult r = copy_any((CUdeviceptr)pinned, s, n, stream);
    return r != CUDA_SUCCESS ? r : copy_any(t, (CUdeviceptr)pinned, n, stream);
}

/* Fills the GPU, has a thread make work's calls, which may wait too, and waits for
 * the streams. How many of them are done with it? */
int beside(int count, const std::function<void(int)> &work)
{
    f->running = f->stop = 0;
    occupy<<<blocks, 1024, shared, busy>>>(f_gpu);
    CHECK(cudaGetLastError());
    while (f->running < (unsigned)blocks)
        std::this_thread::yield();
    std::atomic<int> called{0};
    std::thread caller([&] {
        CHECK(cudaSetDevice(0));
        for (int i = 0; i < count; i++) {
            stream = streams[i];
            work(i);
            called++;
        }
    });
    auto end = clock_type::now() + std::chrono::milliseconds(100);
    int good = 0;
    while (good < count && clock_type::now() < end) {
        good = 0;
        for (int i = 0; i < called; i++)
            good += cudaStreamQuery(streams[i]) == cudaSuccess;
    }
    f->stop = 1;
    CHECK(cudaStreamSynchronize(busy));
    caller.join();
    CHECK(cudaDeviceSynchronize());
    return good;
}

double us_since(clock_type::time_point begin)
{
    return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
}

/* How long a call of 8 bytes takes the caller, and GB/s of 64 MiB. */
void speed(const call &c, double *us, double *rate)
{
    stream = streams[0];
    auto begin = clock_type::now();
    for (int i = 0; i < 200; i++)
        NEED(c(to, from, 8));
    *us = us_since(begin) / 200;
    CHECK(cudaStreamSynchronize(stream));
    *rate = 0;
    for (int i = 0; i < 3; i++) {
        begin = clock_type::now();
        NEED(c(to, from, room));
        CHECK(cudaStreamSynchronize(stream));
        double now = room / us_since(begin) / 1e3;
        *rate = now > *rate ? now : *rate;
    }
}

/* How many streams of one priority do a graph that was captured from the call. */
void graph(const call &c, size_t n)
{
    cudaGraph_t g;
    cudaGraphExec_t run;
    stream = streams[0];
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUresult r = c(to, from, n);
    cudaError_t e = cudaStreamEndCapture(stream, &g);
    (void)cudaGetLastError();
    if (r != CUDA_SUCCESS || e != cudaSuccess || cudaGraphInstantiate(&run, g, 0) != cudaSuccess) {
        printf("  no graph");
        (void)cudaGetLastError();
        return;
    }
    int good = 0;
    for (int i = 0; i < usual; i++) {
        cudaStream_t first = streams[0];
        CHECK(cudaGraphLaunch(run, streams[i]));
        CHECK(cudaStreamSynchronize(streams[i]));
        streams[0] = streams[i];
        good += beside(1, [&](int) { CHECK(cudaGraphLaunch(run, stream)); });
        streams[0] = first;
    }
    printf("  %2d/%d", good, usual);
    CHECK(cudaGraphExecDestroy(run));
    CHECK(cudaGraphDestroy(g));
}

/* Of the streams of one priority, and of those of the other. */
void show(const call &c, size_t n)
{
    for (int i = 0; i < both; i++) { /* what is made when it is used first is, now */
        stream = streams[i];
        NEED(c(to, from, n));
    }
    CHECK(cudaDeviceSynchronize());
    int good = beside(usual, [&](int) { NEED(c(to, from, n)); });
    std::rotate(streams, streams + usual, streams + both);
    int first = beside(usual, [&](int) { NEED(c(to, from, n)); });
    std::rotate(streams, streams + usual, streams + both);
    printf("  %2d/%d %2d/%d", good, usual, first, usual);
}

void row(const char *name, const call &c)
{
    printf("%-36s", name);
    stream = streams[0];
    CUresult r = c(to, from, 8);
    if (r != CUDA_SUCCESS) {
        printf(" error %d\n", (int)r);
        return;
    }
    CHECK(cudaDeviceSynchronize());
    show(c, 8);
    show(c, 1 << 20);
    double us, rate;
    speed(c, &us, &rate);
    printf(" %6.2f us %7.1f GB/s", us, rate);
    graph(c, 1 << 20);
    printf("\n");
    fflush(stdout);
}

/* Memory with two addresses. */
void map_twice()
{
    CUmemAllocationProp p = {};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc d = {};
    d.location = p.location;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemGenericAllocationHandle chunk;
    NEED(DRIVER(cuMemCreate, 10020)(&chunk, room, &p, 0));
    for (CUdeviceptr *at : {&mapped, &again}) {
        NEED(DRIVER(cuMemAddressReserve, 10020)(at, room, 0, 0, 0));
        NEED(DRIVER(cuMemMap, 10020)(*at, room, 0, chunk, 0));
        NEED(DRIVER(cuMemSetAccess, 10020)(*at, room, &d, 1));
    }
}

void begin()
{
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(nullptr));
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    shared = (int)p.sharedMemPerBlockOptin;
    blocks = p.multiProcessorCount;
    CHECK(cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
    int low, high;
    CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
    for (int i = 0; i < both; i++)
        CHECK(
            cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking, i < usual ? 0 : high));
    CHECK(cudaHostAlloc((void **)&f, sizeof *f, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&f_gpu, f, 0));
    CHECK(cudaHostAlloc((void **)&pinned, room, cudaHostAllocDefault));
    CHECK(cudaMalloc((void **)&from, room));
    CHECK(cudaMalloc((void **)&to, room));
    map_twice();
    NEED(DRIVER(cuCtxGetCurrent, 4000)(&context));
    copy_batch_first =
        (batch_first)(void *)driver("cuMemcpyBatchAsync", 12080, (CUresult(*)(void)) nullptr);
    int reaches = 0;
    if (cudaDeviceCanAccessPeer(&reaches, 0, 1) == cudaSuccess && reaches) {
        CHECK(cudaDeviceEnablePeerAccess(1, 0));
        CHECK(cudaSetDevice(1));
        CHECK(cudaMalloc((void **)&peer, room));
        CHECK(cudaSetDevice(0));
    }
    (void)cudaGetLastError();
}

} // namespace

int main(void)
{
    begin();
    (void)beside(both, [](int) {});
    printf("%-36s  8 B, high    1 MiB, high  the call, 64 MiB      graph\n", "on GPU 0, full");
    auto any = [](CUdeviceptr t, CUdeviceptr s, size_t n) { return copy_any(t, s, n, stream); };
    row("cuMemcpyAsync", any);
    row("cuMemcpyAsync, mapped to mapped", [](CUdeviceptr, CUdeviceptr, size_t n) {
        return copy_any(again + room / 2, mapped, n > room / 2 ? room / 2 : n, stream);
    });
    row("cuMemcpyAsync, to mapped",
        [](CUdeviceptr, CUdeviceptr s, size_t n) { return copy_any(mapped, s, n, stream); });
    row("cuMemcpyDtoDAsync",
        [](CUdeviceptr t, CUdeviceptr s, size_t n) { return copy_device(t, s, n, stream); });
    row("cuMemcpyPeerAsync, one context", [](CUdeviceptr t, CUdeviceptr s, size_t n) {
        return copy_peer(t, context, s, context, n, stream);
    });
    row("cuMemcpy2DAsync", flat);
    row("cuMemcpy3DAsync", deep);
    row("cuMemcpy3DPeerAsync, one context", deep_peer);
    if (copy_batch != nullptr) {
        row("cuMemcpyBatchAsync",
            [](CUdeviceptr t, CUdeviceptr s, size_t n) { return batch(t, s, n, 0); });
        row("the same, beside kernels", [](CUdeviceptr t, CUdeviceptr s, size_t n) {
            return batch(t, s, n, CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
        });
    }
    if (copy_batch_first != nullptr)
        row("the same of CUDA 12.8", batch12);
    if (copy_batch_3d != nullptr)
        row("cuMemcpy3DBatchAsync, beside kernels", batch_3d);
    row("by way of pinned memory", by_pinned);
    row("to pinned memory", [](CUdeviceptr, CUdeviceptr s, size_t n) {
        return copy_any((CUdeviceptr)pinned, s, n, stream);
    });
    row("from pinned memory", [](CUdeviceptr t, CUdeviceptr, size_t n) {
        return copy_any(t, (CUdeviceptr)pinned, n, stream);
    });
    if (peer != 0) {
        row("to the other GPU",
            [](CUdeviceptr, CUdeviceptr s, size_t n) { return copy_any(peer, s, n, stream); });
        row("from the other GPU",
            [](CUdeviceptr t, CUdeviceptr, size_t n) { return copy_any(t, peer, n, stream); });
    }
    row("cuMemsetD8Async",
        [](CUdeviceptr t, CUdeviceptr, size_t n) { return fill8(t, 1, n, stream); });
    row("cuMemsetD32Async",
        [](CUdeviceptr t, CUdeviceptr, size_t n) { return fill32(t, 1, n / 4, stream); });
    row("cuStreamWriteValue64",
        [](CUdeviceptr t, CUdeviceptr, size_t) { return write64(stream, t, 1, 0); });
    row("cuStreamWriteValue64, main memory", [](CUdeviceptr, CUdeviceptr, size_t) {
        return write64(stream, (CUdeviceptr)pinned, 1, 0);
    });
    return 0;
}
