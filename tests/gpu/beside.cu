/*
 * beside.cu: calls of CUDA beside a kernel that waits for a PE. Each PE's kernel sends to its right
 * neighbour and waits for its left one's; one PE is late, and the others make the call while their
 * kernels wait. Some calls wait for the kernel, and in the meantime the driver may block others,
 * including the library's copies, for which the kernel waits: all must end. The program prints the
 * time of each call, and whether it returned beside the kernel.
 *
 * shmemrun -n N beside [WORD]      all calls, or those with WORD in their names
 */
#include "check.h"

#include <shmem/shmem.cuh>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <functional>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

#define NEED(call)                                                                                 \
    do {                                                                                           \
        CUresult r_ = (call);                                                                      \
        if (r_ != CUDA_SUCCESS) {                                                                  \
            fprintf(stderr, "beside: %s: error %d\n", #call, (int)r_);                             \
            shmem_global_exit(1);                                                                  \
        }                                                                                          \
    } while (0)

namespace
{

using clock_type = std::chrono::steady_clock;

constexpr int ROUNDS = 4, LATE_MS = 30, STILL_S = 5, THREADS = 128;
constexpr unsigned MOST = 64 << 10, STAGED = 2 << 10; /* larger operands are always staged */
constexpr size_t MIB = 1 << 20;

/* The data of a PE in a step, which both ends compute. */
struct sent {
    unsigned bytes;
    int op;         /* of the signal */
    uint64_t value; /* of the signal when this step's has come */
};

/* A call, and its preparation and cleanup: during those no kernel of this PE runs. */
struct trial {
    const char *name;
    std::function<void(int)> call, before = nullptr, after = nullptr;
};

/* Of a trial on one PE. */
struct result {
    double ms;           /* the longest */
    int tried, returned; /* beside a kernel that could not end: tries, and returns */
};

int me, n, to, from, right, wrong;
unsigned char *dest, *source; /* symmetric, as the next two */
uint64_t *signal_word;
struct result *results;
cudaStream_t sends, other;
unsigned *bad;

/* The operands of the calls. */
char pageable[MIB], *pinned, *operand;
void *memory;
cudaStream_t made;
cudaEvent_t event;
CUmodule module;

/* For the thread that reports where a PE hangs. */
std::atomic<const char *> trying{"begin"}, doing{"begin"};
std::atomic<int> steps{0};

void expect(bool good, const char *what, int step)
{
    if (good) {
        right++;
        return;
    }
    if (wrong++ < 20)
        printf("beside: PE %d: %s, round %d: not so: %s\n", me, trying.load(), step % ROUNDS, what);
}

__host__ __device__ unsigned char content(int pe, int step, unsigned at)
{
    unsigned x = (unsigned)pe * 0x9e3779b9u ^ (unsigned)step * 0x85ebca6bu ^ at * 0xc2b2ae35u;
    x ^= x >> 16;
    x *= 0x2c1b3c6du;
    return (unsigned char)(x >> 11);
}

__global__ void fill(unsigned char *source, int pe, int step)
{
    for (unsigned i = threadIdx.x; i < MOST; i += blockDim.x)
        source[i] = content(pe, step, i);
}

__device__ void send(unsigned char *dest, const unsigned char *source, uint64_t *word, sent s,
                     int to)
{
    uint64_t with = s.op == SHMEM_SIGNAL_ADD ? 1 : s.value;
    shmemx_putmem_signal_block(dest, source, s.bytes, word, with, s.op, to);
}

/* A PE that does not send first passes the data on: its own bytes leave when the others' have
   arrived. */
__global__ void exchange(unsigned char *dest, const unsigned char *source, uint64_t *word,
                         sent mine, sent theirs, int to, bool first)
{
    if (first)
        send(dest, source, word, mine, to);
    if (threadIdx.x == 0)
        shmem_signal_wait_until(word, SHMEM_CMP_GE, theirs.value);
    __syncthreads();
    if (!first)
        send(dest, source, word, mine, to);
}

__global__ void verify(const unsigned char *dest, const uint64_t *word, sent theirs, int from,
                       int step, unsigned *bad)
{
    unsigned count = threadIdx.x == 0 && *word != theirs.value;
    for (unsigned i = threadIdx.x; i < theirs.bytes; i += blockDim.x)
        count += dest[i] != content(from, step, i);
    if (count != 0)
        atomicAdd(bad, count);
}

__global__ void touch(char *at)
{
    *at = 1;
}

/* A new one for each round: this process has not used it before. */
template <int ROUND> __global__ void asked(char *at)
{
    *at = (char)(ROUND + 2);
}

template <int ROUND> __global__ void launched(char *at)
{
    *at = (char)(ROUND + 3);
}

using kernel = void (*)(char *);
const kernel unasked[ROUNDS] = {asked<0>, asked<1>, asked<2>, asked<3>};
const kernel unlaunched[ROUNDS] = {launched<0>, launched<1>, launched<2>, launched<3>};

const char module_text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry nothing()\n{\n    ret;\n}\n";

/* A function of the driver, with which the program is not linked. */
template <class F> F driver(const char *name)
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found));
    return (F)f;
}

void load()
{
    static auto text = driver<PFN_cuModuleLoadData_v2000>("cuModuleLoadData");
    static auto find = driver<PFN_cuModuleGetFunction_v2000>("cuModuleGetFunction");
    CUfunction f;
    NEED(text(&module, module_text));
    NEED(find(&f, module, "nothing"));
}

void unload()
{
    static auto end = driver<PFN_cuModuleUnload_v2000>("cuModuleUnload");
    NEED(end(module));
}

void graph()
{
    cudaGraph_t g;
    cudaGraphExec_t run;
    /* Global, the default, forbids most calls of other threads, including the proxy's. */
    CHECK(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(operand, 1, 4096, other));
    touch<<<1, 1, 0, other>>>(operand);
    CHECK(cudaMemcpyAsync(pinned, operand, 4096, cudaMemcpyDefault, other));
    CHECK(cudaStreamEndCapture(other, &g));
    CHECK(cudaGraphInstantiate(&run, g, 0));
    CHECK(cudaGraphLaunch(run, other));
}

trial copies(const char *name, void *to, const void *from)
{
    return {name, [=](int) { CHECK(cudaMemcpyAsync(to, from, MIB, cudaMemcpyDefault, other)); }};
}

/* Allocations are kept, so that the next round's is memory that the process never had. */
trial allocates(const char *name, size_t bytes)
{
    return {name, [=](int) { CHECK(cudaMalloc(&memory, bytes)); }};
}

std::vector<trial> trials()
{
    auto give_back = [](int) { CHECK(cudaFree(memory)); };
    auto give_back_host = [](int) { CHECK(cudaFreeHost(memory)); };
    auto allocate = [](int) { CHECK(cudaMalloc(&memory, 3 * MIB)); };
    return {
        {"nothing", [](int) {}},
        allocates("cudaMalloc of 3 MiB", 3 * MIB),
        allocates("cudaMalloc of 100 MiB", 100 * MIB),
        {"cudaFree", give_back, allocate},
        {"cudaMallocAsync, cudaFreeAsync",
         [](int) {
             CHECK(cudaMallocAsync(&memory, 3 * MIB, other));
             CHECK(cudaFreeAsync(memory, other));
         }},
        {"cudaMallocHost", [](int) { CHECK(cudaMallocHost(&memory, 3 * MIB)); }, nullptr,
         give_back_host},
        {"cudaFreeHost", give_back_host, [](int) { CHECK(cudaMallocHost(&memory, 3 * MIB)); }},
        {"cudaMallocManaged", [](int) { CHECK(cudaMallocManaged(&memory, 3 * MIB)); }, nullptr,
         give_back},
        {"cudaStreamCreate", [](int) { CHECK(cudaStreamCreate(&made)); }, nullptr,
         [](int) { CHECK(cudaStreamDestroy(made)); }},
        {"cudaStreamDestroy", [](int) { CHECK(cudaStreamDestroy(made)); },
         [](int) { CHECK(cudaStreamCreate(&made)); }},
        {"cudaEventCreate, cudaEventRecord",
         [](int) {
             CHECK(cudaEventCreate(&event));
             CHECK(cudaEventRecord(event, other));
         },
         nullptr, [](int) { CHECK(cudaEventDestroy(event)); }},
        {"a graph: capture, instantiate, launch", [](int) { graph(); }},
        copies("cudaMemcpyAsync from pageable memory", operand, pageable),
        copies("cudaMemcpyAsync to pageable memory", pageable, operand),
        copies("cudaMemcpyAsync from pinned memory", operand, pinned),
        copies("cudaMemcpyAsync to pinned memory", pinned, operand),
        {"cudaMemset", [](int) { CHECK(cudaMemset(operand, 1, MIB)); }},
        /* The very first load starts the driver's compiler, which takes long. */
        {"cuModuleLoadData", [](int) { load(); },
         [](int) {
             load();
             unload();
         },
         [](int) { unload(); }},
        {"cuModuleUnload", [](int) { unload(); }, [](int) { load(); }},
        {"cudaFuncGetAttributes of a new kernel",
         [](int round) {
             cudaFuncAttributes a;
             CHECK(cudaFuncGetAttributes(&a, unasked[round]));
         }},
        {"the first launch of a kernel",
         [](int round) {
             unlaunched[round]<<<1, 1, 0, other>>>(operand);
             CHECK(cudaGetLastError());
         }},
        {"cudaDeviceSynchronize", [](int) { CHECK(cudaDeviceSynchronize()); }},
    };
}

double ms_since(clock_type::time_point begin)
{
    return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

bool running()
{
    cudaError_t e = cudaStreamQuery(sends);
    if (e == cudaErrorNotReady)
        (void)cudaGetLastError(); /* otherwise the next launch would appear to have failed */
    else
        CHECK(e);
    return e == cudaErrorNotReady;
}

sent plan(int pe, int step, bool adds)
{
    std::mt19937 random((unsigned)(pe * 1000 + step));
    unsigned x = (unsigned)random();
    unsigned bytes = step % 5 == 4 ? 1 + x % STAGED : 1 + STAGED + x % (MOST - STAGED);
    return {bytes, adds ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, (uint64_t)step + 1};
}

/* The call, beside a kernel that, if waits is true, cannot end before the late PE's has begun. */
void call_beside(const trial &t, int step, bool waits, clock_type::time_point begin, result *r)
{
    bool before = running();
    /* A host this slow gives no result. */
    if (waits && ms_since(begin) < LATE_MS / 2)
        expect(before, "the kernel runs when the call begins", step);
    doing = "the call does not return";
    auto called = clock_type::now();
    t.call(step % ROUNDS);
    double ms = ms_since(called);
    r->ms = ms > r->ms ? ms : r->ms;
    if (waits && before) {
        r->tried++;
        r->returned += running();
    }
}

void round(const trial &t, int step, result *r)
{
    int number = step % ROUNDS, late = number % n;
    bool adds = number % 2 != 0, hands_on = number / 2 % 2 != 0;
    sent mine = plan(me, step, adds), theirs = plan(from, step, adds);
    doing = "what is before the call does not end";
    fill<<<1, THREADS, 0, sends>>>(source, me, step);
    if (t.before)
        t.before(number);
    CHECK(cudaDeviceSynchronize());
    doing = "the barrier before the call does not end";
    shmem_barrier_all();
    auto begin = clock_type::now();
    if (me == late)
        std::this_thread::sleep_for(std::chrono::milliseconds(LATE_MS));
    doing = "the launch does not return";
    exchange<<<1, THREADS, 0, sends>>>(dest, source, signal_word, mine, theirs, to,
                                       me == late || !hands_on);
    CHECK(cudaGetLastError());
    call_beside(t, step, me != late && (hands_on || from == late), begin, r);
    doing = "the kernel does not end";
    CHECK(cudaStreamSynchronize(sends));
    doing = "what is behind the call does not end";
    verify<<<1, THREADS, 0, sends>>>(dest, signal_word, theirs, from, step, bad);
    CHECK(cudaDeviceSynchronize());
    expect(*bad == 0, "what was sent has come", step);
    *bad = 0;
    if (t.after)
        t.after(number);
    doing = "the barrier behind the call does not end";
    shmem_barrier_all();
    steps++;
}

/* PE 0 prints the results of all PEs. The next round's barrier keeps them from being overwritten
   too early. */
void show(const trial &t, const result &mine)
{
    shmem_putmem(&results[me], &mine, sizeof mine, 0);
    shmem_barrier_all();
    if (me != 0)
        return;
    result all = {};
    std::vector<result> each((size_t)n);
    shmem_getmem(each.data(), results, sizeof mine * (size_t)n, 0);
    for (const result &r : each) {
        all.ms = r.ms > all.ms ? r.ms : all.ms;
        all.tried += r.tried;
        all.returned += r.returned;
    }
    printf("  %s: %.2f ms at most", t.name, all.ms);
    if (all.tried > 0 && all.returned == 0)
        printf(", waits for the kernel");
    else if (all.tried > 0)
        printf(", back beside the kernel in %d of %d", all.returned, all.tried);
    printf("\n");
}

/* Reports the current step of this PE when it has hung for some seconds, and ends it. */
void watch()
{
    int seen = -1;
    auto since = clock_type::now();
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (steps != seen) {
            seen = steps;
            since = clock_type::now();
        }
        if (ms_since(since) < STILL_S * 1000)
            continue;
        printf("beside: PE %d: %s, round %d: %s\n", me, trying.load(), seen % ROUNDS, doing.load());
        std::this_thread::sleep_for(std::chrono::seconds(1)); /* the others report, too */
        _exit(1);
    }
}

void begin()
{
    shmem_init();
    setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    me = shmem_my_pe();
    n = shmem_n_pes();
    to = (me + 1) % n;
    from = (me + n - 1) % n;
    dest = (unsigned char *)shmem_malloc(MOST);
    source = (unsigned char *)shmem_malloc(MOST);
    signal_word = (uint64_t *)shmem_calloc(1, sizeof *signal_word);
    results = (struct result *)shmem_malloc(sizeof *results * (size_t)n);
    CHECK(cudaStreamCreateWithFlags(&sends, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&bad, sizeof *bad));
    CHECK(cudaMallocHost((void **)&pinned, MIB));
    CHECK(cudaMalloc((void **)&operand, MIB));
    *bad = 0;
    memset(pageable, 1, sizeof pageable);
    touch<<<1, 1, 0, other>>>(operand);
    CHECK(cudaDeviceSynchronize());
    shmem_barrier_all();
}

} /* namespace */

int main(int argc, char **argv)
{
    begin();
    std::thread(watch).detach();
    int step = 0;
    for (const trial &t : trials()) {
        /* The first call loads the kernels that run beside the others. */
        if (step > 0 && argc > 1 && strstr(t.name, argv[1]) == nullptr)
            continue;
        trying = t.name;
        result mine = {};
        for (int i = 0; i < ROUNDS; i++)
            round(t, step++, &mine);
        show(t, mine);
    }
    printf("beside: PE %d: %d passed, %d failed\n", me, right, wrong);
    shmem_finalize();
    return wrong != 0;
}
