/*
 * engines.cu: the driver's calls that complete while kernels of the same context occupy a GPU.
 * Between two places of one GPU the driver may copy by a kernel of its own: that waits for room,
 * and for ever if the kernels there wait for it. A row for each call: on how many streams it
 * completed beside the kernels, streams of the usual priority and of the highest, for 8 bytes and
 * for 1 MiB; the time of the call itself and its rate on an idle GPU; whether a graph captured from
 * it completed.
 *
 *   engines           the kernels have all threads and all shared memory
 *   engines shared    all shared memory, and half of the threads
 *   engines beside    another process fills the GPU, too: they take turns
 */
#include "full.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <unistd.h>

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

/* A kernel that a program may start itself: it waits for space. */
__global__ void one(unsigned long long *at)
{
    *at = 1;
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
const int usual = 4,
          both = 2 * usual; /* streams: of the usual priority, and with those of the highest */

struct full gpu;
bool brief, by_shared;
CUcontext context;
cudaStream_t streams[both], stream;
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

/* Of CUDA 12.8, before an argument was removed. */
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

/* As rows, if there are any. */
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

/* Fills the GPU, has a thread make work's calls, which may wait too, and waits for the streams.
 * Returns how many of them completed. */
int beside(int count, const std::function<void(int)> &work)
{
    CHECK(full_begin(&gpu));
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
    CHECK(full_end(&gpu));
    caller.join();
    CHECK(cudaDeviceSynchronize());
    return good;
}

double us_since(clock_type::time_point begin)
{
    return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
}

/* The time that a call of 8 bytes takes the caller, and GB/s of 64 MiB. */
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

/* The number of streams of one priority that complete a graph captured from the call. */
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
    CHECK(cudaGraphLaunch(run, stream));
    CHECK(cudaStreamSynchronize(stream));
    int good = beside(1, [&](int) { CHECK(cudaGraphLaunch(run, stream)); });
    printf("  %d/1", good);
    CHECK(cudaGraphExecDestroy(run));
    CHECK(cudaGraphDestroy(g));
}

/* Of the streams of one priority, and of those of the other. */
void show(const call &c, size_t n)
{
    for (int i = 0; i < both; i++) { /* objects that are made at the first use are made here */
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
    CHECK(full_open(&gpu, 0));
    if (by_shared) { /* half of the threads stay free, and all shared memory is occupied */
        cudaDeviceProp p;
        CHECK(cudaGetDeviceProperties(&p, 0));
        gpu.blocks /= 2;
        gpu.shared = (int)p.sharedMemPerBlockOptin;
        CHECK(
            cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, gpu.shared));
    }
    int low, high;
    CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
    for (int i = 0; i < both; i++)
        CHECK(
            cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking, i < usual ? 0 : high));
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

/* Fills the GPU until the input ends. */
int hold()
{
    struct full mine;
    char end;
    CHECK(cudaSetDevice(0));
    CHECK(full_open(&mine, 0));
    CHECK(full_begin(&mine));
    puts("");
    fflush(stdout);
    (void)!read(0, &end, 1);
    CHECK(full_end(&mine));
    return 0;
}

/* Another process that fills the GPU, too, until this one ends: they get time slices. */
void start_other(const char *program)
{
    int input[2], output[2];
    char ready;
    if (pipe(input) != 0 || pipe(output) != 0)
        exit(1);
    if (fork() == 0) {
        dup2(input[0], 0);
        dup2(output[1], 1);
        close(input[1]);
        execl(program, program, "hold", (char *)nullptr);
        _exit(1);
    }
    close(input[0]);
    close(output[1]);
    if (read(output[0], &ready, 1) != 1)
        exit(1);
}

} // namespace

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "shared") == 0)
            by_shared = true;
        if (strcmp(argv[i], "beside") == 0) {
            brief = true;
            start_other(argv[0]);
        }
        if (strcmp(argv[i], "hold") == 0)
            return hold();
    }
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
    if (!brief)
        row("cuMemcpyDtoDAsync",
            [](CUdeviceptr t, CUdeviceptr s, size_t n) { return copy_device(t, s, n, stream); });
    if (!brief)
        row("cuMemcpyPeerAsync, one context", [](CUdeviceptr t, CUdeviceptr s, size_t n) {
            return copy_peer(t, context, s, context, n, stream);
        });
    row("cuMemcpy2DAsync", flat);
    if (!brief) {
        row("cuMemcpy3DAsync", deep);
        row("cuMemcpy3DPeerAsync, one context", deep_peer);
    }
    if (copy_batch != nullptr) {
        row("cuMemcpyBatchAsync",
            [](CUdeviceptr t, CUdeviceptr s, size_t n) { return batch(t, s, n, 0); });
        row("the same, beside kernels", [](CUdeviceptr t, CUdeviceptr s, size_t n) {
            return batch(t, s, n, CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
        });
    }
    if (copy_batch_first != nullptr && !brief)
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
    row("a kernel of one thread", [](CUdeviceptr t, CUdeviceptr, size_t) {
        one<<<1, 1, 0, stream>>>((unsigned long long *)t);
        return cudaGetLastError() == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    });
    row("cuStreamWriteValue64",
        [](CUdeviceptr t, CUdeviceptr, size_t) { return write64(stream, t, 1, 0); });
    row("cuStreamWriteValue64, main memory", [](CUdeviceptr, CUdeviceptr, size_t) {
        return write64(stream, (CUdeviceptr)pinned, 1, 0);
    });
    return 0;
}
