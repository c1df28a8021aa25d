/*
 * gather: the driver's ways to copy 64 pieces between GPU memory and one block of pinned memory,
 * without the library: the best that a proxy can do if no NIC reaches GPU memory. One call for each
 * piece, one batched call for all (cuMemcpyBatchAsync, CUDA 13), and one copy of rows, which needs
 * pieces at a constant distance. The copies are made in a second context, like those of the
 * proxies, alone or beside a kernel of the program that waits. A stream write of a word, the mark,
 * follows the copies.
 *
 * Each way has two times: until the calls have returned, and until the CPU sees the mark.
 *
 * gather [BYTES...]
 */
#include <cuda.h>
#include <cudaTypedefs.h>

#include <atomic>
#include <chrono>
#include <cstring>

#include "bell.cuh"
#include "rows.h"

namespace
{

const int pieces = 64, skip = 2, rounds = 50, repetitions = 5;
const double enough = 1e5; // us, after which a repetition ends: some ways wait 2.4 ms for each copy
const size_t largest = 65536;
const size_t apart = 2 * largest; // from one piece in GPU memory to the next

// The driver's error numbers (CUresult) are also those of the runtime (cudaError_t).
void need(CUresult e, const char *what)
{
    need((cudaError_t)e, what);
}

// Finds a function of the driver, as of that version of CUDA; null if the driver is older.
template <class F> F driver(const char *name, unsigned version)
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion(name, &f, version, cudaEnableDefault, &found) !=
        cudaSuccess)
        return nullptr;
    return (F)f;
}
#define DRIVER(name, version)                                                                      \
    PFN_##name##_v##version name = driver<PFN_##name##_v##version>(#name, version)

// A kernel of the program that keeps the GPU busy until the signal.
__global__ void held(const uint64_t *signal, uint64_t *told)
{
    if (threadIdx.x == 0 && !await(signal, 1))
        ring(told, gave_up);
}

enum way { CALLS, TWO_ROWS, BATCH, OVERLAPPING, ROWS };
const char *const way_names[] = {"a call each", "a call of two rows each", "one batched call",
                                 "one batched call, preferring overlap", "one copy of rows"};

struct bench {
    char *gpu, *pinned;
    struct words {
        alignas(64) uint64_t mark, signal, told;
    } * w;
    CUcontext program, second;
    CUstream copies;
    cudaStream_t kernels;
    DRIVER(cuCtxCreate, 3020);
    DRIVER(cuCtxSetLimit, 3010);
    DRIVER(cuCtxGetCurrent, 4000);
    DRIVER(cuCtxSetCurrent, 4000);
    DRIVER(cuStreamCreate, 2000);
    DRIVER(cuMemcpyAsync, 4000);
    DRIVER(cuMemcpy2DAsync, 3020);
    DRIVER(cuMemcpyBatchAsync, 13000);
    DRIVER(cuStreamWriteValue64, 11070);
    DRIVER(cuMemCreate, 10020);
    DRIVER(cuMemAddressReserve, 10020);
    DRIVER(cuMemMap, 10020);
    DRIVER(cuMemSetAccess, 10020);

    bench()
    {
        need(cudaHostAlloc((void **)&pinned, pieces * largest, cudaHostAllocPortable), "pin");
        need(cudaHostAlloc((void **)&w, sizeof *w, cudaHostAllocPortable), "pin");
        need(cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking), "make a stream");
        // Memory that belongs to no context, like the heap.
        CUmemAllocationProp prop = {};
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        size_t size = pieces * apart; // 8 MiB: a multiple of 2 MiB, in which the driver allocates
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at;
        need(cuMemCreate(&handle, size, &prop, 0), "cuMemCreate");
        need(cuMemAddressReserve(&at, size, 0, 0, 0), "cuMemAddressReserve");
        need(cuMemMap(at, size, 0, handle, 0), "cuMemMap");
        CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        need(cuMemSetAccess(at, size, &access, 1), "cuMemSetAccess");
        gpu = (char *)at;
        need(cuCtxGetCurrent(&program), "cuCtxGetCurrent");
        need(cuCtxCreate(&second, 0, 0), "cuCtxCreate");
        need(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 0), "cuCtxSetLimit");
        need(cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    }

    // Submits the copies. in: to GPU memory. The pieces in pinned memory are packed; those in GPU
    // memory are in another order, except for ROWS, so that they have no constant distance.
    void submit(way how, bool in, size_t bytes)
    {
        CUdeviceptr to[pieces], from[pieces];
        size_t sizes[pieces];
        for (int i = 0; i < pieces; ++i) {
            CUdeviceptr far = (CUdeviceptr)(gpu + (size_t)(how == ROWS ? i : i * 37 % 64) * apart);
            CUdeviceptr near = (CUdeviceptr)(pinned + i * bytes);
            to[i] = in ? far : near;
            from[i] = in ? near : far;
            sizes[i] = bytes;
        }
        CUDA_MEMCPY2D c = {};
        c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
        switch (how) {
        case CALLS:
            for (int i = 0; i < pieces; ++i)
                need(cuMemcpyAsync(to[i], from[i], bytes, copies), "cuMemcpyAsync");
            break;
        case TWO_ROWS:
            c.WidthInBytes = c.srcPitch = c.dstPitch = bytes / 2;
            c.Height = 2;
            for (int i = 0; i < pieces; ++i) {
                c.srcDevice = from[i];
                c.dstDevice = to[i];
                need(cuMemcpy2DAsync(&c, copies), "cuMemcpy2DAsync");
            }
            break;
        case BATCH:
        case OVERLAPPING: {
            CUmemcpyAttributes a = {};
            size_t first = 0;
            a.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
            if (how == OVERLAPPING)
                a.flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
            need(cuMemcpyBatchAsync(to, from, sizes, pieces, &a, &first, 1, copies),
                 "cuMemcpyBatchAsync");
            break;
        }
        case ROWS:
            c.srcDevice = from[0];
            c.dstDevice = to[0];
            c.WidthInBytes = bytes;
            c.Height = pieces;
            c.srcPitch = in ? bytes : apart;
            c.dstPitch = in ? apart : bytes;
            need(cuMemcpy2DAsync(&c, copies), "cuMemcpy2DAsync");
        }
    }

    // Prints the two times of a way: in us for all 64 pieces. beside: a kernel of the program waits
    // meanwhile. Copies end after `enough` us of a repetition.
    void run(way how, bool in, bool beside, size_t bytes)
    {
        std::vector<double> called, done;
        for (int k = 0; k < repetitions; ++k) {
            *w = {};
            need(cuCtxSetCurrent(program), "cuCtxSetCurrent");
            if (beside)
                held<<<32, 1024, 0, kernels>>>(&w->signal, &w->told);
            need(cuCtxSetCurrent(second), "cuCtxSetCurrent");
            double calls = 0, all = 0;
            int n = 0;
            for (int i = 1; i <= skip + rounds && all < enough; ++i) {
                using clock = std::chrono::steady_clock;
                auto begin = clock::now();
                submit(how, in, bytes);
                need(cuStreamWriteValue64(copies, (CUdeviceptr)&w->mark, i, 0),
                     "cuStreamWriteValue64");
                std::chrono::duration<double, std::micro> returned = clock::now() - begin;
                while (__atomic_load_n(&w->mark, __ATOMIC_ACQUIRE) < (uint64_t)i)
                    ;
                std::chrono::duration<double, std::micro> seen = clock::now() - begin;
                if (i > skip) {
                    calls += returned.count();
                    all += seen.count();
                    ++n;
                }
            }
            __atomic_store_n(&w->signal, 1, __ATOMIC_RELEASE);
            need(cuCtxSetCurrent(program), "cuCtxSetCurrent");
            need(cudaStreamSynchronize(kernels), "wait for a kernel");
            if (__atomic_load_n(&w->told, __ATOMIC_ACQUIRE) == gave_up)
                give_up(way_names[how], "the copies took more than two seconds");
            called.push_back(calls / n);
            done.push_back(all / n);
        }
        std::string name = std::string(in ? "64 copies in" : "64 copies out") +
                           (beside ? ", beside a kernel" : ", alone");
        row("probe", {(name + ": calls").c_str(), way_names[how], bytes, 0, 0, "us"}, called);
        row("probe", {(name + ": mark").c_str(), way_names[how], bytes, 0, 0, "us"}, done);
    }
};

} // namespace

int main(int argc, char **argv)
{
    std::vector<size_t> sizes;
    for (int i = 1; i < argc; ++i)
        sizes.push_back(std::min<size_t>(strtoull(argv[i], nullptr, 0), largest));
    if (sizes.empty())
        sizes = {64, 1024, 7168, 65536};
    need(cudaFree(nullptr), "cudaFree");
    bench b;
    for (bool in : {false, true})
        for (bool beside : {false, true})
            for (size_t bytes : sizes)
                for (way how : {CALLS, TWO_ROWS, BATCH, OVERLAPPING, ROWS}) {
                    if ((how == BATCH || how == OVERLAPPING) && b.cuMemcpyBatchAsync == nullptr)
                        continue;
                    // Copies in below 28 KiB are executed by the engine that runs kernels, so each
                    // would wait 2.4 ms for a time slice (decision 0043).
                    if (how == CALLS && in && beside && bytes < 28 << 10)
                        continue;
                    b.run(how, in, beside, bytes);
                }
    return 0;
}
