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

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

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
    extern __shared__ char all[];
    if (threadIdx.x == 0) {
        all[0] = 0;
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
const size_t sizes[] = {8, 1024, 4096, 65536, 1 << 20};
const int n_sizes = sizeof sizes / sizeof *sizes;

int blocks, shared, passed, failed;
CUcontext context;
flags *f, *f_gpu;
cudaStream_t stream, busy;
CUdeviceptr to, from, again; /* again: a second mapping of to */
char *pinned, *seen;

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

bool ends_within(cudaStream_t s, int ms)
{
    auto end = clock_type::now() + std::chrono::milliseconds(ms);
    while (cudaStreamQuery(s) == cudaErrorNotReady)
        if (clock_type::now() > end)
            return false;
    return true;
}

/* Does the stream what work gives it while the GPU is full? The call itself may
 * wait too, so that a thread makes it. */
bool beside(const std::function<void()> &work)
{
    f->running = f->stop = 0;
    occupy<<<blocks, 1024, shared, busy>>>(f_gpu);
    CHECK(cudaGetLastError());
    while (f->running < (unsigned)blocks)
        std::this_thread::yield();
    std::atomic<bool> called{false};
    std::thread caller([&] {
        CHECK(cudaSetDevice(0));
        work();
        called = true;
    });
    auto end = clock_type::now() + std::chrono::milliseconds(100);
    while (!called && clock_type::now() < end)
        std::this_thread::yield();
    bool good = called && ends_within(stream, 100);
    f->stop = 1;
    CHECK(cudaStreamSynchronize(busy));
    caller.join();
    CHECK(cudaStreamSynchronize(stream));
    return good;
}

void fill_source(size_t n, char salt)
{
    for (size_t i = 0; i < n; i++)
        seen[i] = (char)(i * 7 + i / 251) + salt;
    CHECK(cudaMemcpy((void *)from, seen, n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset((void *)to, 0, n));
    CHECK(cudaDeviceSynchronize());
}

bool right(size_t n)
{
    std::vector<char> got(n);
    CHECK(cudaMemcpy(got.data(), (void *)to, n, cudaMemcpyDeviceToHost));
    return memcmp(got.data(), seen, n) == 0;
}

void score(const char *name, bool needed, const char *what, bool good)
{
    if (!needed)
        return;
    good ? passed++ : failed++;
    if (!good)
        printf("engines: %s: %s\n", name, what);
}

double us_since(clock_type::time_point begin)
{
    return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
}

/* How long a call of 8 bytes takes the caller, and GB/s of 64 MiB. */
void speed(const call &c, double *us, double *rate)
{
    CHECK(cudaStreamSynchronize(stream));
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

/* A graph that was captured from the call, beside a full GPU. */
const char *graph(const call &c, size_t n)
{
    cudaGraph_t g;
    cudaGraphExec_t run;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUresult r = c(to, from, n);
    cudaError_t e = cudaStreamEndCapture(stream, &g);
    (void)cudaGetLastError();
    if (r != CUDA_SUCCESS || e != cudaSuccess)
        return "not captured";
    e = cudaGraphInstantiate(&run, g, 0);
    if (e == cudaSuccess)
        e = cudaGraphUpload(run, stream);
    if (e != cudaSuccess) {
        (void)cudaGetLastError();
        return "no graph";
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphLaunch(run, stream));
    CHECK(cudaStreamSynchronize(stream));
    bool good = beside([&] { CHECK(cudaGraphLaunch(run, stream)); });
    CHECK(cudaGraphExecDestroy(run));
    CHECK(cudaGraphDestroy(g));
    return good ? "yes" : "no";
}

void row(const char *name, bool needed, const call &c)
{
    printf("%c %-44s", needed ? '*' : ' ', name);
    for (size_t n : sizes) {
        static char salt;
        fill_source(n, ++salt);
        CUresult r = c(to, from, n); /* what is made when it is used first is, now */
        CHECK(cudaStreamSynchronize(stream));
        if (r != CUDA_SUCCESS) {
            printf(" error %d\n", (int)r);
            score(name, needed, "it is refused", false);
            return;
        }
        fill_source(n, ++salt);
        bool good = beside([&] { NEED(c(to, from, n)); }), same = right(n);
        printf(" %-3s", !same ? "BAD" : good ? "yes" : "no");
        score(name, needed, "it waits for a place on the GPU, or copies wrongly", good && same);
    }
    double us, rate;
    speed(c, &us, &rate);
    printf(" %6.2f us %7.1f GB/s", us, rate);
    printf("  graph of 8 B: %s, of 1 MiB: %s\n", graph(c, 8), graph(c, 1 << 20));
    fflush(stdout);
}

void plain(const char *name, const std::function<CUresult()> &c)
{
    CUresult r = c();
    CHECK(cudaStreamSynchronize(stream));
    if (r != CUDA_SUCCESS)
        printf("  %-44s error %d\n", name, (int)r);
    else
        printf("  %-44s %s\n", name, beside([&] { NEED(c()); }) ? "yes" : "no");
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
    for (CUdeviceptr *at : {&to, &again}) {
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
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
    CHECK(cudaHostAlloc((void **)&f, sizeof *f, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&f_gpu, f, 0));
    CHECK(cudaHostAlloc((void **)&pinned, room, cudaHostAllocDefault));
    CHECK(cudaHostAlloc((void **)&seen, room, cudaHostAllocDefault));
    CHECK(cudaMalloc((void **)&from, room));
    map_twice();
    NEED(DRIVER(cuCtxGetCurrent, 4000)(&context));
    copy_batch_first =
        (batch_first)(void *)driver("cuMemcpyBatchAsync", 12080, (CUresult(*)(void)) nullptr);
}

} // namespace

int main(void)
{
    begin();
    (void)beside([] {});
    printf("  between two places of GPU 0, full:           ");
    for (int i = 0; i < n_sizes; i++)
        printf(" %zu", sizes[i]);
    printf(" bytes; the call; 64 MiB\n");
    row("cuMemcpyAsync", false,
        [](CUdeviceptr t, CUdeviceptr s, size_t n) { return copy_any(t, s, n, stream); });
    row("cuMemcpyDtoDAsync", false,
        [](CUdeviceptr t, CUdeviceptr s, size_t n) { return copy_device(t, s, n, stream); });
    row("cuMemcpyPeerAsync, one context", false, [](CUdeviceptr t, CUdeviceptr s, size_t n) {
        return copy_peer(t, context, s, context, n, stream);
    });
    row("cuMemcpy2DAsync", false, flat);
    row("cuMemcpy3DAsync", false, deep);
    row("cuMemcpy3DPeerAsync, one context", false, deep_peer);
    row("cuMemcpyAsync to a second mapping", false,
        [](CUdeviceptr, CUdeviceptr s, size_t n) { return copy_any(again, s, n, stream); });
    if (copy_batch != nullptr) {
        row("cuMemcpyBatchAsync", false,
            [](CUdeviceptr t, CUdeviceptr s, size_t n) { return batch(t, s, n, 0); });
        row("cuMemcpyBatchAsync, beside kernels", true, [](CUdeviceptr t, CUdeviceptr s, size_t n) {
            return batch(t, s, n, CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
        });
    }
    if (copy_batch_first != nullptr)
        row("the same of CUDA 12.8", true, batch12);
    if (copy_batch_3d != nullptr)
        row("cuMemcpy3DBatchAsync, beside kernels", false, batch_3d);
    row("cuMemcpyAsync, by way of pinned memory", true, by_pinned);
    plain("cuMemsetD8Async, 1 MiB", [] { return fill8(to, 1, 1 << 20, stream); });
    plain("cuMemsetD32Async, 1 MiB", [] { return fill32(to, 1, 1 << 18, stream); });
    plain("cuMemsetD32Async, 4 bytes", [] { return fill32(to, 1, 1, stream); });
    plain("cuStreamWriteValue64", [] { return write64(stream, to, 1, 0); });
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
