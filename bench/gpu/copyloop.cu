/*
 * copyloop: the least time that a proxy with the copy engine can take. One process has two GPUs and
 * a host thread for each, in place of a proxy. A kernel on either GPU notifies its thread by a
 * store into pinned memory; the thread copies the bytes to the other GPU and then, on the same
 * stream, the signal for which the kernel there waits; that kernel answers in the same way. There
 * is no queue, no protocol, no second process.
 *
 * The signal is a copy of 8 bytes out of pinned memory (copy) or a stream memory operation (write).
 *
 * copyloop [BYTES...]
 */
#include <cuda.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bell.cuh"
#include "rows.h"

namespace
{

const size_t largest = 1 << 20;
const int skip = 100, trips = 1000, launches = 6; // trips of a launch, after skip untimed ones

// The kernel of GPU me. GPU 0 begins each trip. *ns gets the nanoseconds of the trips, or gave_up.
__global__ void round_trips(int me, uint64_t *bell, const uint64_t *signal, uint64_t *ns)
{
    uint64_t begin = 0;
    for (int i = 1; i <= skip + trips; ++i) {
        if (i == skip + 1)
            begin = clock_ns();
        if (me == 1 && !await(signal, i)) {
            *ns = gave_up;
            return;
        }
        ring(bell, i);
        if (me == 0 && !await(signal, i)) {
            *ns = gave_up;
            return;
        }
    }
    *ns = clock_ns() - begin;
}

// Finds cuStreamWriteValue64 in the driver, with which the program is not linked.
decltype(&cuStreamWriteValue64) stream_write()
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    need(cudaGetDriverEntryPointByVersion("cuStreamWriteValue64", &f, 12000, cudaEnableDefault,
                                          &found),
         "find cuStreamWriteValue64");
    if (found != cudaDriverEntryPointSuccess)
        give_up("find cuStreamWriteValue64", "the driver has none");
    return reinterpret_cast<decltype(&cuStreamWriteValue64)>(f);
}

struct side {
    char *to, *from;              // in memory of this GPU
    uint64_t *signal;             // in memory of this GPU: the kernel waits for it
    uint64_t *bell, *values, *ns; // pinned: bell notifies the thread, values[i] is i, the source of
                                  // signal i
    cudaStream_t kernel, copies;
};

// Opens a GPU, and allocates what its side has.
void open(side &s, int gpu)
{
    need(cudaSetDevice(gpu), "take GPU");
    need(cudaDeviceEnablePeerAccess(1 - gpu, 0), "reach the other GPU");
    need(cudaMalloc(&s.to, largest), "allocate GPU memory");
    need(cudaMalloc(&s.from, largest), "allocate GPU memory");
    need(cudaMalloc(&s.signal, 128), "allocate GPU memory");
    need(cudaHostAlloc(&s.bell, 4096, cudaHostAllocPortable), "allocate pinned memory");
    need(cudaHostAlloc(&s.ns, 4096, cudaHostAllocPortable), "allocate pinned memory");
    need(cudaHostAlloc(&s.values, sizeof(uint64_t) * (skip + trips + 1), cudaHostAllocPortable),
         "allocate pinned memory");
    for (int i = 0; i <= skip + trips; ++i)
        s.values[i] = i;
    need(cudaStreamCreateWithFlags(&s.kernel, cudaStreamNonBlocking), "create a stream");
    need(cudaStreamCreateWithFlags(&s.copies, cudaStreamNonBlocking), "create a stream");
}

// Before a launch: sets the signal and the bell of a side to 0.
void reset(side &s, int gpu)
{
    need(cudaSetDevice(gpu), "take GPU");
    need(cudaMemset(s.signal, 0, 128), "clear the signal");
    need(cudaDeviceSynchronize(), "clear the signal");
    __atomic_store_n(s.bell, 0, __ATOMIC_RELEASE);
}

// The thread of a GPU: serves its kernel until the last trip, or until stop, because the kernel has
// ended early.
void serve(side &mine, side &other, int gpu, size_t bytes, bool write, std::atomic<bool> &stop)
{
    static const auto write_value = stream_write();
    need(cudaSetDevice(gpu), "take GPU");
    for (uint64_t seen = 0; seen < skip + trips;) {
        uint64_t rung = __atomic_load_n(mine.bell, __ATOMIC_ACQUIRE);
        if (rung == seen) {
            if (stop.load(std::memory_order_relaxed))
                return;
            continue;
        }
        seen = rung;
        need(cudaMemcpyAsync(other.to, mine.from, bytes, cudaMemcpyDefault, mine.copies), "copy");
        if (!write)
            need(cudaMemcpyAsync(other.signal, mine.values + seen, 8, cudaMemcpyDefault,
                                 mine.copies),
                 "copy the signal");
        else if (write_value(mine.copies, (CUdeviceptr)other.signal, seen, 0) != CUDA_SUCCESS)
            give_up("write the signal", "cuStreamWriteValue64 failed");
    }
}

// Makes one launch; returns the microseconds of a round trip. write: signals are stream writes.
double once(side *s, size_t bytes, bool write)
{
    std::atomic<bool> stop{false};
    for (int gpu : {0, 1})
        reset(s[gpu], gpu);
    std::thread proxies[] = {
        std::thread(serve, std::ref(s[0]), std::ref(s[1]), 0, bytes, write, std::ref(stop)),
        std::thread(serve, std::ref(s[1]), std::ref(s[0]), 1, bytes, write, std::ref(stop))};
    for (int gpu : {1, 0}) {
        need(cudaSetDevice(gpu), "take GPU");
        round_trips<<<1, 1, 0, s[gpu].kernel>>>(gpu, s[gpu].bell, s[gpu].signal, s[gpu].ns);
        need(cudaGetLastError(), "launch a kernel");
    }
    for (int gpu : {0, 1}) {
        need(cudaSetDevice(gpu), "take GPU");
        need(cudaStreamSynchronize(s[gpu].kernel), "run a kernel");
    }
    stop = true;
    for (auto &p : proxies)
        p.join();
    for (int gpu : {0, 1})
        need(cudaStreamSynchronize(s[gpu].copies), "wait for copies");
    if (*s[0].ns == gave_up || *s[1].ns == gave_up)
        give_up("round trip", "no signal came for two seconds");
    return (double)*s[0].ns / trips / 1e3;
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<size_t> sizes;
    for (int i = 1; i < argc; ++i)
        sizes.push_back(std::min<size_t>(strtoull(argv[i], nullptr, 0), largest));
    if (sizes.empty())
        sizes = {8, 1024, 16384, 65536, 1 << 20};
    int gpus = 0;
    need(cudaGetDeviceCount(&gpus), "count GPUs");
    if (gpus < 2)
        give_up("count GPUs", "two are needed");
    side s[2];
    for (int gpu : {0, 1})
        open(s[gpu], gpu);
    for (size_t bytes : sizes)
        for (bool write : {false, true}) {
            std::vector<double> us;
            for (int i = 0; i < launches; ++i) {
                double t = once(s, bytes, write);
                if (i > 0)
                    us.push_back(t);
            }
            row("limit", {"put_signal_round_trip", write ? "write" : "copy", bytes, 1, 1, "us"},
                us);
        }
    return 0;
}
