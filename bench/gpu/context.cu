/*
 * context: the figures of decision 0043, without the library.
 *   memory   the GPU memory of a second CUDA context of the process, and of each object that the
 *            proxies have in it
 *   arrive   the time until bytes of the CPU reach a kernel that waits for them, if the second
 *            context copies them, and if the kernel reads them from main memory itself
 *   within   the time of a copy within the GPU in either context, alone and beside a kernel of the
 *            program
 *
 * context [memory] [arrive] [within]
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

const size_t largest = 1 << 20;
const int skip = 20, trips = 200, repetitions = 5; // trips of a kernel, after skip untimed ones

// The driver's error numbers (CUresult) are also those of the runtime (cudaError_t).
void need(CUresult e, const char *what)
{
    need((cudaError_t)e, what);
}

// Finds a function of the driver, as of that version of CUDA: the program is not linked with it.
template <class F> F driver(const char *name, unsigned version)
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    need(cudaGetDriverEntryPointByVersion(name, &f, version, cudaEnableDefault, &found), name);
    return (F)f;
}
#define DRIVER(name, version) auto name = driver<PFN_##name##_v##version>(#name, version)

// The MiB of GPU memory that are free.
double free_mib()
{
    size_t free_bytes, all;
    need(cudaMemGetInfo(&free_bytes, &all), "cudaMemGetInfo");
    return (double)free_bytes / (1 << 20);
}

// ------------------------------------------------------------------------- memory

// PTX of a kernel that stores 1 to a word.
const char *const one_thread = ".version 6.4\n.target sm_75\n.address_size 64\n"
                               ".visible .entry touch(.param .u64 at)\n"
                               "{ .reg .b64 %at; ld.param.u64 %at, [at]; st.u64 [%at], 1; ret; }\n";

// Prints how much GPU memory each step takes.
struct steps {
    double before = free_mib();

    // A row of the memory taken since the last call.
    void took(const char *what)
    {
        double now = free_mib();
        row("probe", {"memory of a context", what, 0, 0, 0, "MiB"}, {before - now});
        before = now;
    }
};

// GPU memory that belongs to no context, like that of the library's heap.
struct mapped {
    CUdeviceptr at = 0;
    size_t size = 0;

    explicit mapped(size_t bytes)
    {
        DRIVER(cuMemGetAllocationGranularity, 10020);
        DRIVER(cuMemCreate, 10020);
        DRIVER(cuMemAddressReserve, 10020);
        DRIVER(cuMemMap, 10020);
        DRIVER(cuMemSetAccess, 10020);
        CUmemAllocationProp prop = {};
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        size_t granule = 0;
        need(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
             "cuMemGetAllocationGranularity");
        size = (bytes + granule - 1) / granule * granule;
        CUmemGenericAllocationHandle handle;
        need(cuMemCreate(&handle, size, &prop, 0), "cuMemCreate");
        need(cuMemAddressReserve(&at, size, 0, 0, 0), "cuMemAddressReserve");
        need(cuMemMap(at, size, 0, handle, 0), "cuMemMap");
        CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        need(cuMemSetAccess(at, size, &access, 1), "cuMemSetAccess");
    }
};

// A copy from main memory as two rows, which a copy engine executes at any size. The engine that
// runs kernels would execute a small plain copy, behind the kernel that waits for it (decision
// 0043).
CUDA_MEMCPY2D two_rows(const void *from, CUdeviceptr to, size_t bytes)
{
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = from;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = to;
    c.WidthInBytes = c.srcPitch = c.dstPitch = bytes / 2;
    c.Height = 2;
    return c;
}

// The part memory.
void memory()
{
    DRIVER(cuCtxCreate, 3020);
    DRIVER(cuCtxDestroy, 4000);
    DRIVER(cuCtxSetLimit, 3010);
    DRIVER(cuStreamCreate, 2000);
    DRIVER(cuStreamSynchronize, 2000);
    DRIVER(cuEventCreate, 2000);
    DRIVER(cuEventRecord, 2000);
    DRIVER(cuModuleLoadData, 2000);
    DRIVER(cuModuleGetFunction, 2000);
    DRIVER(cuLaunchKernel, 4000);
    DRIVER(cuMemcpy2DAsync, 3020);
    DRIVER(cuMemcpyDtoHAsync, 3020);
    DRIVER(cuStreamWriteValue64, 11070);

    mapped heap(largest);
    char *pinned;
    need(cudaHostAlloc((void **)&pinned, largest, cudaHostAllocPortable), "cudaHostAlloc");
    CUcontext context;
    steps s;
    need(cuCtxCreate(&context, 0, 0), "cuCtxCreate");
    s.took("as it is made");
    need(cuCtxDestroy(context), "cuCtxDestroy");
    s.took("destroyed");
    need(cuCtxCreate(&context, 0, 0), "cuCtxCreate");
    need(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 0), "cuCtxSetLimit");
    s.took("made again, its stack limit 0");
    need(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 0), "cuCtxSetLimit");
    need(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 0), "cuCtxSetLimit");
    s.took("its limits of printf and malloc 0");
    CUstream stream[4];
    need(cuStreamCreate(&stream[0], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    s.took("a stream");
    CUDA_MEMCPY2D copy = two_rows(pinned, heap.at, 4096);
    need(cuMemcpy2DAsync(&copy, stream[0]), "cuMemcpy2DAsync");
    need(cuStreamSynchronize(stream[0]), "cuStreamSynchronize");
    s.took("its first copy in");
    need(cuMemcpyDtoHAsync(pinned, heap.at, 4096, stream[0]), "cuMemcpyDtoHAsync");
    need(cuStreamSynchronize(stream[0]), "cuStreamSynchronize");
    s.took("its first copy out");
    need(cuStreamWriteValue64(stream[0], heap.at, 1, CU_STREAM_WRITE_VALUE_DEFAULT),
         "cuStreamWriteValue64");
    need(cuStreamSynchronize(stream[0]), "cuStreamSynchronize");
    s.took("its first store");
    CUevent event;
    need(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    need(cuEventRecord(event, stream[0]), "cuEventRecord");
    s.took("an event");
    for (int i = 1; i < 4; ++i) {
        need(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        copy.dstDevice = heap.at + 4096 * (size_t)i;
        need(cuMemcpy2DAsync(&copy, stream[i]), "cuMemcpy2DAsync");
        need(cuStreamSynchronize(stream[i]), "cuStreamSynchronize");
        s.took("one more stream, and a copy in");
    }
    CUmodule module;
    CUfunction function;
    need(cuModuleLoadData(&module, one_thread), "cuModuleLoadData");
    need(cuModuleGetFunction(&function, module, "touch"), "cuModuleGetFunction");
    s.took("a module of one kernel");
    void *args[] = {&heap.at};
    need(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream[0], args, nullptr), "cuLaunchKernel");
    need(cuStreamSynchronize(stream[0]), "cuStreamSynchronize");
    s.took("its first launch");
    need(cuCtxDestroy(context), "cuCtxDestroy");
    s.took("destroyed with all of it");
}

// ------------------------------------------------------------------------- arrive

// For each trip: waits for signal, copies bytes from `from` to `to` if there are any, and notifies
// the CPU by told. One block.
__global__ void arrive(const uint64_t *signal, const uint4 *from, uint4 *to, size_t bytes,
                       uint64_t *told)
{
    __shared__ bool here;
    for (uint64_t i = 1; i <= skip + trips; ++i) {
        if (threadIdx.x == 0)
            here = await(signal, i);
        __syncthreads();
        if (!here)
            break;
        for (size_t k = threadIdx.x; k < bytes / sizeof *to; k += blockDim.x)
            to[k] = __ldcv(from + k);
        __syncthreads();
        if (threadIdx.x == 0)
            ring(told, i);
    }
    if (threadIdx.x == 0 && !here)
        ring(told, gave_up);
}

// Words in pinned memory, each in a cache line.
struct words {
    alignas(64) uint64_t signal; // the CPU stores it; kernels that read the bytes wait for it
    alignas(64) uint64_t told;   // a kernel stores the number of its last trip, or gave_up
};

// Microseconds of a trip: start(i) begins trip i by a store or a call of the CPU, and told ends it.
template <class Start> double trip_us(words *w, cudaStream_t stream, Start start)
{
    std::chrono::steady_clock::time_point begin;
    for (uint64_t i = 1; i <= skip + trips; ++i) {
        if (i == skip + 1)
            begin = std::chrono::steady_clock::now();
        start(i);
        uint64_t v;
        while ((v = __atomic_load_n(&w->told, __ATOMIC_ACQUIRE)) < i)
            ;
        if (v == gave_up)
            give_up("arrive", "the kernel has waited for two seconds");
    }
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    need(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    w->signal = w->told = 0;
    return took.count() / trips;
}

// The part arrive.
void arrivals()
{
    DRIVER(cuCtxCreate, 3020);
    DRIVER(cuCtxSetLimit, 3010);
    DRIVER(cuCtxGetCurrent, 4000);
    DRIVER(cuCtxSetCurrent, 4000);
    DRIVER(cuStreamCreate, 2000);
    DRIVER(cuMemcpy2DAsync, 3020);
    DRIVER(cuStreamWriteValue64, 11070);

    mapped heap(2 * largest);
    uint64_t *mark = (uint64_t *)(heap.at + largest);
    char *pinned;
    words *w;
    need(cudaHostAlloc((void **)&pinned, largest, cudaHostAllocPortable), "cudaHostAlloc");
    need(cudaHostAlloc((void **)&w, sizeof *w, cudaHostAllocPortable), "cudaHostAlloc");
    memset(pinned, 1, largest);
    *w = {};
    cudaStream_t waits;
    need(cudaStreamCreateWithFlags(&waits, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    CUcontext program, second;
    need(cuCtxGetCurrent(&program), "cuCtxGetCurrent");
    need(cuCtxCreate(&second, 0, 0), "cuCtxCreate");
    need(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 0), "cuCtxSetLimit");
    CUstream copies;
    need(cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING), "cuStreamCreate");

    for (size_t bytes = 16; bytes <= largest; bytes *= 4) {
        std::vector<double> copied;
        for (int k = 0; k < repetitions; ++k) {
            need(cuCtxSetCurrent(program), "cuCtxSetCurrent");
            need(cudaMemset(mark, 0, sizeof *mark), "cudaMemset");
            arrive<<<1, 1, 0, waits>>>(mark, nullptr, nullptr, 0, &w->told);
            need(cuCtxSetCurrent(second), "cuCtxSetCurrent");
            CUDA_MEMCPY2D copy = two_rows(pinned, heap.at, bytes);
            copied.push_back(trip_us(w, waits, [&](uint64_t i) {
                need(cuMemcpy2DAsync(&copy, copies), "cuMemcpy2DAsync");
                need(cuStreamWriteValue64(copies, (CUdeviceptr)mark, i, 0), "cuStreamWriteValue64");
            }));
        }
        row("probe",
            {"bytes for a kernel that waits", "copied by a second context", bytes, 1, 1, "us"},
            copied);
        need(cuCtxSetCurrent(program), "cuCtxSetCurrent");
        for (int threads : {1, 32, 256, 1024}) {
            if (threads == 1 && bytes > 65536)
                continue; // such a trip takes milliseconds
            std::vector<double> read;
            for (int k = 0; k < repetitions; ++k) {
                arrive<<<1, threads, 0, waits>>>(&w->signal, (const uint4 *)pinned,
                                                 (uint4 *)heap.at, bytes, &w->told);
                read.push_back(trip_us(w, waits, [&](uint64_t i) {
                    __atomic_store_n(&w->signal, i, __ATOMIC_RELEASE);
                }));
            }
            row("probe",
                {"bytes for a kernel that waits", "read by the kernel", bytes, 1, threads, "us"},
                read);
        }
    }
}

// ------------------------------------------------------------------------- within

// A kernel of the program that keeps the GPU busy until the signal. It is launched with 32 blocks
// of 1024 threads, like the puts over a window in bandwidth.cu.
__global__ void held(const uint64_t *signal, uint64_t *told)
{
    if (threadIdx.x == 0 && !await(signal, 1))
        ring(told, gave_up);
}

// The part within.
void within()
{
    DRIVER(cuCtxCreate, 3020);
    DRIVER(cuCtxSetLimit, 3010);
    DRIVER(cuCtxGetCurrent, 4000);
    DRIVER(cuCtxSetCurrent, 4000);
    DRIVER(cuStreamCreate, 2000);
    DRIVER(cuStreamSynchronize, 2000);
    DRIVER(cuMemcpyDtoDAsync, 3020);

    const int copies = 64;
    mapped heap(2 * largest);
    words *w;
    need(cudaHostAlloc((void **)&w, sizeof *w, cudaHostAllocPortable), "cudaHostAlloc");
    cudaStream_t kernels;
    need(cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    CUcontext context[2];
    CUstream stream[2];
    const char *const alone[] = {"program's context, alone", "second context, alone"};
    const char *const beside[] = {"program's context, beside a kernel",
                                  "second context, beside a kernel"};
    need(cuCtxGetCurrent(&context[0]), "cuCtxGetCurrent");
    need(cuStreamCreate(&stream[0], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    need(cuCtxCreate(&context[1], 0, 0), "cuCtxCreate");
    need(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 0), "cuCtxSetLimit");
    need(cuStreamCreate(&stream[1], CU_STREAM_NON_BLOCKING), "cuStreamCreate");

    for (size_t bytes : {(size_t)4096, (size_t)32768, largest}) {
        for (bool kernel : {false, true}) {
            std::vector<double> took[2];
            for (int k = 0; k < repetitions; ++k) {
                for (int c : {k % 2, 1 - k % 2}) { // which context is first alternates
                    *w = {};
                    need(cuCtxSetCurrent(context[0]), "cuCtxSetCurrent");
                    if (kernel)
                        held<<<32, 1024, 0, kernels>>>(&w->signal, &w->told);
                    need(cuCtxSetCurrent(context[c]), "cuCtxSetCurrent");
                    std::chrono::steady_clock::time_point begin;
                    for (int i = 0; i <= copies; ++i) {
                        if (i == 1)
                            begin = std::chrono::steady_clock::now();
                        need(cuMemcpyDtoDAsync(heap.at, heap.at + largest, bytes, stream[c]),
                             "cuMemcpyDtoDAsync");
                        need(cuStreamSynchronize(stream[c]), "cuStreamSynchronize");
                    }
                    std::chrono::duration<double, std::micro> us =
                        std::chrono::steady_clock::now() - begin;
                    took[c].push_back(us.count() / copies);
                    __atomic_store_n(&w->signal, 1, __ATOMIC_RELEASE);
                    need(cuCtxSetCurrent(context[0]), "cuCtxSetCurrent");
                    need(cudaStreamSynchronize(kernels), "cudaStreamSynchronize");
                    if (w->told == gave_up)
                        give_up("within", "the kernel has waited for two seconds");
                }
            }
            for (int c : {0, 1})
                row("probe",
                    {"copy within the GPU", (kernel ? beside : alone)[c], bytes, 32, 1024, "us"},
                    took[c]);
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> names(argv + 1, argv + argc);
    need(cudaFree(nullptr), "cudaFree");
    if (wanted(names, "memory"))
        memory();
    if (wanted(names, "arrive"))
        arrivals();
    if (wanted(names, "within"))
        within();
    return 0;
}
