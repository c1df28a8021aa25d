/*
 * stream: the figures whose calls are queued on a CUDA stream.
 */
#include "gpu.cuh"

namespace
{

cudaStream_t stream;

// n puts on the stream, each with a quiet.
void stream_put(long n, size_t size)
{
    for (long i = 0; i < n; ++i) {
        shmemx_putmem_on_stream(dst, src, size, toward, stream);
        shmemx_quiet_on_stream(stream);
    }
    check_cuda(cudaStreamSynchronize(stream), "put on a stream");
}

// Windows of nonblocking puts on the stream, each with a quiet.
void stream_window(long n, size_t size)
{
    for (long i = 0; i < n; ++i) {
        for (long w = window_size(size); w > 0; --w)
            shmemx_putmem_nbi_on_stream(dst, src, size, toward, stream);
        shmemx_quiet_on_stream(stream);
    }
    check_cuda(cudaStreamSynchronize(stream), "put windows on a stream");
}

// n barriers on the stream.
void stream_barrier(long n, size_t)
{
    for (long i = 0; i < n; ++i)
        shmemx_barrier_all_on_stream(stream);
    check_cuda(cudaStreamSynchronize(stream), "barrier on a stream");
}

// Makes the table of the figures.
std::vector<struct figure> make_figures()
{
    std::vector<struct figure> all;
    all.push_back(with_data(
        make_figure("put", "latency", "stream", "quiet on the stream", LATENCY, ORIGIN, stream_put),
        check_origin));
    all.push_back(with_data(with_window(make_figure("put", "bandwidth", "stream",
                                                    "quiet on the stream after each window",
                                                    BANDWIDTH, ORIGIN, stream_window)),
                            check_origin));
    all.push_back(of_one_size(make_figure("barrier", "latency", "stream", "end of the stream",
                                          LATENCY, ALL, stream_barrier),
                              0, NULL));
    all.push_back({});
    return all;
}

} // namespace

// Creates the stream.
void stream_open()
{
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
}

// Returns the table, which is made at the first call.
const struct figure *stream_figures()
{
    static const std::vector<struct figure> all = make_figures();
    return all.data();
}
