/*
 * host: host calls on the symmetric heap, in GPU memory or main memory: puts with a quiet after
 * each, puts_nbi with one quiet for all, and gets. Each has a row of its time and one of its
 * bandwidth. The path is the library's choice: for a heap in GPU memory the copy engine, if it
 * reaches the peer's GPU, else the network.
 *
 * host [BYTES...]
 */
#include <chrono>

#include "names.h"
#include "rows.h"
#include "start.h"

namespace
{

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// us a call, of 5 repetitions. A repetition takes some 20 ms, has 3 calls at least, and ends with
// after(). A first one, which does not count, finds the number of calls.
template <typename Call, typename After> std::vector<double> time(Call call, After after)
{
    std::vector<double> us;
    int n = 3;
    for (int rep = 0; rep < 6; ++rep) {
        double begin = now();
        for (int i = 0; i < n; ++i)
            call();
        after();
        double each = (now() - begin) / n;
        if (rep == 0)
            n = (int)std::max(3.0, std::min(1000.0, 0.02 / each));
        else
            us.push_back(each * 1e6);
    }
    return us;
}

// Prints the rows of times v, in us: as times, and as bandwidth.
void report(const char *name, size_t bytes, std::vector<double> v)
{
    row(BENCH_SYSTEM, {name, "host", bytes, 0, 0, "us"}, v);
    for (double &x : v)
        x = (double)bytes / x / 1e3;
    row(BENCH_SYSTEM, {(std::string(name) + "_bandwidth").c_str(), "host", bytes, 0, 0, "GB/s"}, v);
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<size_t> sizes;
    for (int i = 1; i < argc; ++i)
        sizes.push_back(strtoull(argv[i], nullptr, 0));
    if (sizes.empty())
        sizes = {8, 4096, 64 << 10, 1 << 20, 16 << 20, 64 << 20};
    start();
    size_t largest = *std::max_element(sizes.begin(), sizes.end());
    char *to = static_cast<char *>(symmetric(largest));
    char *from = static_cast<char *>(symmetric(largest));
    // cudaMemcpy writes to main memory and to GPU memory, cudaMemset only to the latter.
    std::vector<char> bytes(largest, 'x');
    need(cudaMemcpy(shmem_my_pe() == 0 ? from : to, bytes.data(), largest, cudaMemcpyDefault),
         "fill the heap");
    need(cudaDeviceSynchronize(), "fill the heap");
    shmem_barrier_all();
    auto nothing = [] {};
    if (shmem_my_pe() == 0)
        for (size_t n : sizes) {
            report("host_put", n,
                   time(
                       [&] {
                           shmem_putmem(to, from, n, 1 /* PE */);
                           shmem_quiet();
                       },
                       nothing));
            report("host_put_nbi", n,
                   time([&] { shmem_putmem_nbi(to, from, n, 1 /* PE */); }, [] { shmem_quiet(); }));
            report("host_get", n, time([&] { shmem_getmem(from, to, n, 1 /* PE */); }, nothing));
        }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
