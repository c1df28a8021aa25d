/*
 * stream: the figures of one PE or two whose calls are queued on a CUDA stream.
 */
#include "gpu.cuh"

cudaStream_t stream;

namespace
{

uint64_t *signal_word; // symmetric

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

// n gets on the stream.
void stream_get(long n, size_t size)
{
    for (long i = 0; i < n; ++i)
        shmemx_getmem_on_stream(dst, src, size, toward, stream);
    check_cuda(cudaStreamSynchronize(stream), "get on a stream");
}

// Windows of nonblocking gets on the stream, each with a quiet.
void stream_get_window(long n, size_t size)
{
    for (long i = 0; i < n; ++i) {
        for (long w = window_size(size); w > 0; --w)
            shmemx_getmem_nbi_on_stream(dst, src, size, toward, stream);
        shmemx_quiet_on_stream(stream);
    }
    check_cuda(cudaStreamSynchronize(stream), "get windows on a stream");
}

uint64_t sent; // signals that this PE has sent; its peer has sent as many

// Round trips of puts with signal: the stream of each PE waits for the signal of the other.
void stream_signal(long n, size_t size)
{
    for (long i = 0; i < n; ++i) {
        ++sent;
        if (me != 0)
            shmemx_signal_wait_until_on_stream(signal_word, SHMEM_CMP_GE, sent, stream);
        shmemx_putmem_signal_on_stream(dst, src, size, signal_word, sent, SHMEM_SIGNAL_SET, toward,
                                       stream);
        if (me == 0)
            shmemx_signal_wait_until_on_stream(signal_word, SHMEM_CMP_GE, sent, stream);
    }
    check_cuda(cudaStreamSynchronize(stream), "put with signals on a stream");
}

// Makes the table of the figures.
std::vector<struct figure> make_figures()
{
    std::vector<struct figure> all;
    auto add = [&](const char *test, const char *measure, const char *until, enum kind kind,
                   enum acting acting, void (*run)(long, size_t), bool (*check)(size_t)) {
        all.push_back(
            with_data(make_figure(test, measure, "stream", until, kind, acting, run), check));
    };
    auto windows = [&](const char *test, const char *measure, enum kind kind, enum acting acting,
                       void (*run)(long, size_t), bool (*check)(size_t)) {
        add(test, measure, "quiet on the stream after each window", kind, acting, run, check);
        all.back().burst = window_size;
        all.back().each_way = acting == BOTH;
    };
    add("put", "latency", "quiet on the stream", LATENCY, ORIGIN, stream_put, check_origin);
    windows("put", "bandwidth", BANDWIDTH, ORIGIN, stream_window, check_origin);
    windows("put", "bidirectional", BANDWIDTH, BOTH, stream_window, check_both);
    windows("put", "pairs", BANDWIDTH, HALVES, stream_window, check_halves);
    windows("put", "rate", RATE, ORIGIN, stream_window, check_origin);
    add("get", "latency", "end of the stream", LATENCY, ORIGIN, stream_get, check_get);
    windows("get", "bandwidth", BANDWIDTH, ORIGIN, stream_get_window, check_get);
    add("put_signal", "visible", "the stream has seen the signal: half a round trip", LATENCY, BOTH,
        stream_signal, check_both);
    all.back().half = true;
    all.push_back({});
    return all;
}

} // namespace

// After shmem_init: creates the stream, and allocates the word of signals.
void stream_open()
{
    signal_word = static_cast<uint64_t *>(symmetric(sizeof *signal_word));
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
}

// Returns the table, which is made at the first call.
const struct figure *stream_figures()
{
    static const std::vector<struct figure> all = make_figures();
    return all.data();
}
