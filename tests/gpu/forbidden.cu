/*
 * forbidden.cu: the CUDA calls that wait until a kernel has ended. A program must not make these
 * while a kernel waits for a PE that cannot continue before the call returns. A kernel waits for a
 * word of main memory, a thread makes the call, and after a while the word is set. It prints a line
 * for each call, with its behaviour the first time and the second.
 *
 * Then copies that a second context makes while the program's context loads a kernel beside a
 * running one: the kinds of memory that tie them to the program's context, which stands still.
 *
 * Without the library. The status is 0 when the kernel ran beside all calls, whatever their
 * results.
 */
#include "full.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#define CHECK(call) check((call), #call)

namespace
{

using clock_type = std::chrono::steady_clock;

constexpr size_t MIB = 1 << 20;
constexpr size_t COPIED = 64 << 10; /* which a copy engine does, not the one that runs kernels */
constexpr int WAIT_MS = 100, LOAD_MS = 20, KERNELS = 32;

struct full gpu; /* of one block: it does not fill the GPU, and runs until a word ends it */
cudaStream_t other, loading; /* the operand of the calls, and the stream of loads */
int wrong;

/* The driver's errors have the run time's numbers. */
template <class E> void check(E e, const char *call)
{
    if ((int)e == 0)
        return;
    fprintf(stderr, "forbidden: %s: %s\n", call, cudaGetErrorString((cudaError_t)e));
    exit(1);
}

__global__ void touch(char *at)
{
    *at = 1;
}

/* Each of these is loaded once. */
template <int NUMBER> __global__ void fresh(char *at)
{
    *at = (char)NUMBER;
}

using kernel = void (*)(char *);

template <int... NUMBER> kernel nth(int i, std::integer_sequence<int, NUMBER...>)
{
    static const kernel all[] = {fresh<NUMBER>...};
    return all[i];
}

kernel next_kernel()
{
    static int used = 0;
    if (used == KERNELS)
        abort();
    return nth(used++, std::make_integer_sequence<int, KERNELS>{});
}

/* A function of the driver of that version, with which the program is not linked. */
template <class F> F driver(const char *name, unsigned version)
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion(name, &f, version, cudaEnableDefault, &found));
    return (F)f;
}
#define DRIVER(name, version) driver<PFN_##name##_v##version>(#name, version)

auto set_current = DRIVER(cuCtxSetCurrent, 4000);
auto copy_any = DRIVER(cuMemcpyAsync, 4000);
auto query_stream = DRIVER(cuStreamQuery, 2000);

double ms_since(clock_type::time_point begin)
{
    return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

/* Only full_end ends it, so it runs beside all earlier work. */
void begin_kernel(const char *name)
{
    CHECK(full_begin(&gpu));
    if (cudaStreamQuery(gpu.stream) != cudaErrorNotReady) {
        printf("forbidden: %s: the kernel does not run\n", name);
        wrong++;
    }
    (void)cudaGetLastError(); /* which a query leaves */
}

/* A thread that is ready to run a function on request. */
struct worker {
    std::atomic<bool> ready{false}, go{false}, done{false};
    std::thread thread;

    worker(const std::function<void()> &prepare, const std::function<void()> &work)
        : thread([=] {
              prepare();
              ready = true;
              while (!go)
                  std::this_thread::yield();
              work();
              done = true;
          })
    {
        while (!ready)
            std::this_thread::yield();
    }

    /* Whether it has finished within this time. */
    bool within(int ms)
    {
        auto begin = clock_type::now();
        while (!done && ms_since(begin) < ms)
            std::this_thread::yield();
        return done;
    }
};

void on_gpu()
{
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(nullptr));
}

/* The ms that the call took, or less than 0 if it waited for the kernel. */
double beside(const char *name, const std::function<void()> &call)
{
    double ms = 0;
    worker w(on_gpu, [&] {
        auto begin = clock_type::now();
        call();
        ms = ms_since(begin);
    });
    begin_kernel(name);
    w.go = true;
    bool returned = w.within(WAIT_MS);
    CHECK(full_end(&gpu));
    w.thread.join();
    CHECK(cudaDeviceSynchronize());
    return returned ? ms : -1;
}

std::string outcome(double ms)
{
    char text[48];
    snprintf(text, sizeof text, "returns while a kernel runs, %.3f ms", ms);
    return ms < 0 ? "waits until it has ended" : text;
}

using step = std::function<void()>;

void row(const char *name, const step &call, const step &before = nullptr,
         const step &after = nullptr)
{
    double ms[2];
    for (double &m : ms) {
        if (before)
            before();
        CHECK(cudaDeviceSynchronize());
        m = beside(name, call);
        if (after)
            after();
    }
    printf("  %-40s%-42sthen: %s\n", name, outcome(ms[0]).c_str(), outcome(ms[1]).c_str());
    fflush(stdout);
}

/* ---- what the calls work on */

void *memory;
char *pinned, *operand;
alignas(4096) char pageable[MIB];

/* Memory with an address of its own, like the library's heap. */
struct mapping {
    static constexpr size_t size = 64 * MIB; /* a multiple of every GPU's granularity */
    CUdeviceptr at;
    CUmemGenericAllocationHandle chunk;

    void make()
    {
        CUmemAllocationProp p = {};
        p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        CUmemAccessDesc d = {};
        d.location = p.location;
        d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        CHECK(DRIVER(cuMemCreate, 10020)(&chunk, size, &p, 0));
        CHECK(DRIVER(cuMemAddressReserve, 10020)(&at, size, 0, 0, 0));
        CHECK(DRIVER(cuMemMap, 10020)(at, size, 0, chunk, 0));
        CHECK(DRIVER(cuMemSetAccess, 10020)(at, size, &d, 1));
    }

    void end()
    {
        CHECK(DRIVER(cuMemUnmap, 10020)(at, size));
        CHECK(DRIVER(cuMemRelease, 10020)(chunk));
    }
} mapped;

const char module_text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry nothing()\n{\n    ret;\n}\n";
CUmodule module;

void load()
{
    CHECK(DRIVER(cuModuleLoadData, 2000)(&module, module_text));
}

void find()
{
    CUfunction f;
    CHECK(DRIVER(cuModuleGetFunction, 2000)(&f, module, "nothing"));
}

void unload()
{
    CHECK(DRIVER(cuModuleUnload, 2000)(module));
}

cudaGraph_t graph;
cudaGraphExec_t executable;

void capture()
{
    CHECK(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(operand, 1, 4096, other));
    touch<<<1, 1, 0, other>>>(operand);
    CHECK(cudaMemcpyAsync(pinned, operand, 4096, cudaMemcpyDefault, other));
    CHECK(cudaStreamEndCapture(other, &graph));
}

void instantiate()
{
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
}

void end_graph()
{
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
}

/* ---- the calls */

/* The first allocations are kept: the next call must not find memory that was freed. */
void allocations()
{
    auto give_back = [] { CHECK(cudaFree(memory)); };
    auto give_back_host = [] { CHECK(cudaFreeHost(memory)); };
    row("cudaMalloc of 3 MiB", [] { CHECK(cudaMalloc(&memory, 3 * MIB)); });
    row("cudaMalloc of 100 MiB", [] { CHECK(cudaMalloc(&memory, 100 * MIB)); });
    row("cudaFree of 3 MiB", give_back, [] { CHECK(cudaMalloc(&memory, 3 * MIB)); });
    row("cudaFree of 100 MiB", give_back, [] { CHECK(cudaMalloc(&memory, 100 * MIB)); });
    auto take = [] { CHECK(cudaMallocAsync(&memory, 3 * MIB, other)); };
    auto leave = [] { CHECK(cudaFreeAsync(memory, other)); };
    row("cudaMallocAsync", take, nullptr, leave);
    row("cudaFreeAsync", leave, take);
    row("cudaMallocHost", [] { CHECK(cudaMallocHost(&memory, 3 * MIB)); });
    row("cudaFreeHost", give_back_host, [] { CHECK(cudaMallocHost(&memory, 3 * MIB)); });
    auto pin = [] { CHECK(cudaHostRegister(pageable, MIB, cudaHostRegisterDefault)); };
    auto unpin = [] { CHECK(cudaHostUnregister(pageable)); };
    row("cudaHostRegister", pin, nullptr, unpin);
    row("cudaHostUnregister", unpin, pin);
    row("cudaMallocManaged", [] { CHECK(cudaMallocManaged(&memory, 3 * MIB)); });
    row("cudaFree of managed memory", give_back,
        [] { CHECK(cudaMallocManaged(&memory, 3 * MIB)); });
    auto map = [] { mapped.make(); };
    auto unmap = [] { mapped.end(); };
    row("cuMemCreate, cuMemMap, cuMemSetAccess", map, nullptr, unmap);
    row("cuMemUnmap, cuMemRelease", unmap, map);
}

void code()
{
    load(); /* the first one starts the driver's compiler, which takes long */
    unload();
    row("cuModuleLoadData", load, nullptr, unload);
    row("cuModuleGetFunction", find, load, unload);
    auto loaded = [] {
        load();
        find();
    };
    row("cuModuleUnload", unload, loaded);
    row("cudaFuncGetAttributes of a new kernel", [] {
        cudaFuncAttributes a;
        CHECK(cudaFuncGetAttributes(&a, next_kernel()));
    });
    row("cudaOccupancy... of a new kernel", [] {
        int blocks;
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, next_kernel(), 32, 0));
    });
    row("the first launch of a kernel", [] {
        next_kernel()<<<1, 1, 0, other>>>(operand);
        CHECK(cudaGetLastError());
    });
    row("the next launch of a kernel", [] {
        touch<<<1, 1, 0, other>>>(operand);
        CHECK(cudaGetLastError());
    });
    row("a graph's capture", capture, nullptr, [] { CHECK(cudaGraphDestroy(graph)); });
    row("cudaGraphInstantiate", instantiate, capture, end_graph);
    auto made = [] {
        capture();
        instantiate();
    };
    auto play = [] { CHECK(cudaGraphLaunch(executable, other)); };
    row("cudaGraphLaunch", play, made, end_graph);
    row("cudaGraphExecDestroy, cudaGraphDestroy", end_graph, made);
}

void copy(const char *name, void *to, const void *from)
{
    row(name, [=] { CHECK(cudaMemcpyAsync(to, from, MIB, cudaMemcpyDefault, other)); });
}

void copies()
{
    copy("cudaMemcpyAsync from pageable memory", operand, pageable);
    copy("cudaMemcpyAsync to pageable memory", pageable, operand);
    copy("cudaMemcpyAsync from pinned memory", operand, pinned);
    copy("cudaMemcpyAsync to pinned memory", pinned, operand);
    auto in = [] { CHECK(cudaMemcpy(operand, pageable, MIB, cudaMemcpyDefault)); };
    auto out = [] { CHECK(cudaMemcpy(pageable, operand, MIB, cudaMemcpyDefault)); };
    row("cudaMemcpy from pageable memory", in);
    row("cudaMemcpy to pageable memory", out);
    row("cudaMemset", [] { CHECK(cudaMemset(operand, 1, MIB)); });
}

void streams()
{
    static cudaStream_t s;
    static cudaEvent_t e;
    auto make = [] { CHECK(cudaStreamCreate(&s)); };
    auto end = [] { CHECK(cudaStreamDestroy(s)); };
    row("cudaStreamCreate", make, nullptr, end);
    row("cudaStreamDestroy, idle", end, make);
    row("cudaEventCreate", [] { CHECK(cudaEventCreate(&e)); });
    row("cudaStreamSynchronize of another stream", [] { CHECK(cudaStreamSynchronize(other)); });
    row("cudaDeviceSynchronize", [] { CHECK(cudaDeviceSynchronize()); });
}

/* ---- a second context */

CUcontext apart;
CUstream apart_stream;
char *apart_pinned;

void make_apart()
{
    std::thread([] {
        /* Its version before it had parameters: it then applies to this thread only. */
        CHECK(DRIVER(cuCtxCreate, 3020)(&apart, 0, 0));
        CHECK(DRIVER(cuStreamCreate, 2000)(&apart_stream, CU_STREAM_NON_BLOCKING));
        CHECK(
            DRIVER(cuMemHostAlloc, 2020)((void **)&apart_pinned, COPIED, CU_MEMHOSTALLOC_PORTABLE));
        CHECK(set_current(nullptr));
    }).join();
}

/* A copy behind a load: by the second context, or by the program's if by is NULL. */
struct copy_behind {
    CUcontext by;
    const void *from;
    void *to;
    CUresult result;
    double ms;

    void make()
    {
        CUstream s = by != nullptr ? apart_stream : other;
        auto begin = clock_type::now();
        result = copy_any((CUdeviceptr)to, (CUdeviceptr)from, COPIED, s);
        if (result == CUDA_SUCCESS)
            while ((result = query_stream(s)) == CUDA_ERROR_NOT_READY)
                std::this_thread::yield();
        ms = ms_since(begin);
    }
};

int loads, loads_returned;

void say(const char *name, CUcontext by, const void *from, void *to)
{
    copy_behind c = {by, from, to, CUDA_SUCCESS, 0};
    kernel k = next_kernel();
    worker loader(on_gpu, [k] {
        k<<<1, 1, 0, loading>>>(operand);
        CHECK(cudaGetLastError());
    });
    auto mine = [by] { by == nullptr ? on_gpu() : CHECK(set_current(by)); };
    worker copier(mine, [&] { c.make(); });
    begin_kernel(name);
    loader.go = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(LOAD_MS));
    copier.go = true;
    bool done = copier.within(WAIT_MS);
    loads_returned += loader.done;
    loads++;
    CHECK(full_end(&gpu));
    loader.thread.join();
    copier.thread.join();
    CHECK(cudaDeviceSynchronize());
    char text[64];
    snprintf(text, sizeof text, done ? "done in %.3f ms" : "not done after %.0f ms",
             done ? c.ms : (double)WAIT_MS);
    if (c.result != CUDA_SUCCESS)
        snprintf(text, sizeof text, "error %d", (int)c.result);
    printf("%-24s", text);
}

/* From the memory and to it; the other side is of a kind that no context owns. */
void row_behind(const char *name, CUcontext by, void *memory, bool is_host)
{
    void *beyond = is_host ? (void *)mapped.at : apart_pinned;
    printf("  %-40s", name);
    say(name, by, memory, beyond);
    say(name, by, beyond, memory);
    printf("\n");
    fflush(stdout);
}

void behind_loads()
{
    make_apart();
    mapped.make();
    row_behind("by the program's context, of cuMemMap", nullptr, (void *)mapped.at, false);
    row_behind("cuMemMap", apart, (void *)mapped.at, false);
    CHECK(cudaMalloc(&memory, COPIED));
    row_behind("cudaMalloc", apart, memory, false);
    CHECK(cudaMallocAsync(&memory, COPIED, other));
    CHECK(cudaStreamSynchronize(other));
    row_behind("cudaMallocAsync", apart, memory, false);
    CHECK(cudaMallocManaged(&memory, COPIED));
    CHECK(cudaMemset(memory, 1, COPIED)); /* which moves it to the GPU */
    CHECK(cudaDeviceSynchronize());
    row_behind("cudaMallocManaged", apart, memory, false);
    CHECK(cudaMallocHost(&memory, COPIED));
    row_behind("cudaMallocHost", apart, memory, true);
    CHECK(cudaHostRegister(pageable, COPIED, cudaHostRegisterDefault));
    row_behind("pageable memory, cudaHostRegister", apart, pageable, true);
    CHECK(cudaHostUnregister(pageable));
    row_behind("pageable memory", apart, pageable, true);
    printf("  the launch of the new kernel came back beside the other one in %d of %d\n",
           loads_returned, loads);
}

void begin()
{
    on_gpu();
    CHECK(full_open(&gpu, 0));
    gpu.blocks = 1;
    gpu.threads = 32;
    gpu.shared = 32;
    for (cudaStream_t *s : {&other, &loading})
        CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&pinned, MIB));
    CHECK(cudaMalloc((void **)&operand, MIB));
    touch<<<1, 1, 0, other>>>(operand);
    (void)beside("begin", [] {}); /* loads the kernel that runs beside the calls */
}

} // namespace

int main()
{
    begin();
    printf("beside a kernel that runs, when made first, and once more:\n");
    allocations();
    code();
    copies();
    streams();
    printf("copies of %zu KiB behind the load of a kernel beside one that runs, by a second "
           "context, from such memory and to it:\n",
           COPIED >> 10);
    behind_loads();
    if (wrong > 0)
        printf("forbidden: the kernel did not run beside %d calls: this shows nothing\n", wrong);
    return wrong != 0;
}
