/*
 * occupied.cu: the host calls that complete while kernels of the program occupy all threads and all
 * shared memory of both PEs' GPUs. The program prints a line for each, which is a row of
 * docs/reference/gpu-host-calls.md, and fails if a call that must work does not.
 *
 * shmemrun -n 2 occupied
 */
#include "check.h"
#include "full.h"

#include <shmem/shmem.cuh>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace
{

int me, other, wrong, gpus;
struct full gpu;
cudaStream_t stream;

struct place {
    uint64_t word, signal, value;
    char to[1 << 20], from[1 << 20];
} * place;

/* Runs a call beside kernels that fill both GPUs. */
bool beside(const std::function<void()> &call)
{
    std::atomic<bool> done{false};
    shmem_barrier_all();
    CHECK(full_begin(&gpu));
    std::thread caller([&] {
        CHECK(cudaSetDevice(me % gpus));
        call();
        done = true;
    });
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!done && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    bool good = done;
    /* The other PE's GPU stays full until this PE has finished. */
    std::this_thread::sleep_until(end);
    CHECK(full_end(&gpu));
    caller.join();
    shmem_barrier_all();
    return good;
}

/* all: every PE makes the call; needed: it must work. */
void row(const char *name, bool all, bool needed, const std::function<void()> &call)
{
    bool good = beside([&] {
        if (all || me == 0)
            call();
    });
    if (me == 0)
        printf("| `%s` | %s |\n", name, good ? "yes" : "no");
    if (needed && !good)
        wrong++;
}

void done()
{
    CHECK(cudaStreamSynchronize(stream));
}

void host_calls()
{
    static char near[1 << 20];
    row("shmem_p", false, true, [] { shmem_uint64_p(&place->word, 1, other); });
    row("shmem_g", false, true, [] { (void)shmem_uint64_g(&place->word, other); });
    row("shmem_put", false, true, [] { shmem_putmem(place->to, near, sizeof near, other); });
    row("shmem_put, from the heap", false, true,
        [] { shmem_putmem(place->to, place->from, sizeof place->from, other); });
    row("shmem_get", false, true, [] { shmem_getmem(near, place->from, sizeof near, other); });
    row("shmem_put_nbi, shmem_quiet", false, true, [] {
        shmem_putmem_nbi(place->to, place->from, sizeof place->from, other);
        shmem_quiet();
    });
    row("shmem_put_signal, shmem_signal_wait_until", true, true, [] {
        shmem_putmem_signal(place->to, near, 8, &place->signal, 1, SHMEM_SIGNAL_SET, other);
        shmem_signal_wait_until(&place->signal, SHMEM_CMP_EQ, 1);
    });
    row("shmem_wait_until, shmem_test", true, true, [] {
        shmem_uint64_p(&place->value, 5, other);
        shmem_uint64_wait_until(&place->value, SHMEM_CMP_EQ, 5);
        (void)shmem_uint64_test(&place->value, SHMEM_CMP_EQ, 5);
    });
    row("shmem_atomic_fetch", false, true,
        [] { (void)shmem_uint64_atomic_fetch(&place->word, other); });
    row("shmem_atomic_set", false, true, [] {
        shmem_uint64_atomic_set(&place->word, 1, other);
        shmem_uint32_atomic_set((uint32_t *)&place->word, 1, other);
    });
    row("shmem_atomic_add, fetch_add, swap, compare_swap, and, or, xor", false, false,
        [] { (void)shmem_uint64_atomic_fetch_add(&place->word, 1, other); });
    row("shmem_put_signal with SHMEM_SIGNAL_ADD", false, false, [] {
        shmem_putmem_signal(place->to, near, 8, &place->signal, 1, SHMEM_SIGNAL_ADD, other);
    });
    row("shmemx_putmem_notify, shmemx_notify_wait, test, fetch, reset", true, true, [] {
        shmemx_putmem_notify(place->to, near, sizeof near, 0, other);
        shmemx_notify_wait(0, 1);
        (void)shmemx_notify_test(0, 1);
        (void)shmemx_notify_fetch(0);
        shmemx_notify_reset(0, 0);
    });
    row("shmem_barrier_all, shmem_sync_all", true, true, [] {
        shmem_barrier_all();
        shmem_sync_all();
    });
    row("shmem_broadcast", true, false,
        [] { shmem_broadcastmem(SHMEM_TEAM_WORLD, place->to, place->from, 1024, 0); });
    row("shmem_fcollect, shmem_alltoall", true, false, [] {
        shmem_fcollectmem(SHMEM_TEAM_WORLD, place->to, place->from, 1024);
        shmem_alltoallmem(SHMEM_TEAM_WORLD, place->to, place->from, 1024);
    });
    row("shmem_sum_reduce", true, false,
        [] { shmem_int_sum_reduce(SHMEM_TEAM_WORLD, (int *)place->to, (int *)place->from, 256); });
    row("shmem_malloc, shmem_free", true, true, [] { shmem_free(shmem_malloc(8 << 20)); });
}

void stream_calls()
{
    row("put_on_stream", false, true, [] {
        shmemx_putmem_on_stream(place->to, place->from, sizeof place->from, other, stream);
        done();
    });
    row("get_on_stream", false, true, [] {
        shmemx_getmem_on_stream(place->to, place->from, sizeof place->from, other, stream);
        done();
    });
    row("p_on_stream, 4 and 8 bytes", false, true, [] {
        shmemx_uint64_p_on_stream(&place->word, 1, other, stream);
        shmemx_uint32_p_on_stream((uint32_t *)&place->word, 1, other, stream);
        done();
    });
    row("p_on_stream, 1 and 2 bytes", false, false, [] {
        shmemx_uint16_p_on_stream((uint16_t *)&place->word, 1, other, stream);
        done();
    });
    row("g_on_stream", false, true,
        [] { (void)shmemx_uint64_g_on_stream(&place->word, other, stream); });
    row("put_signal_on_stream, signal_wait_until_on_stream (SET; EQ, GE)", true, true, [] {
        shmemx_putmem_signal_on_stream(place->to, place->from, 64, &place->signal, 3,
                                       SHMEM_SIGNAL_SET, other, stream);
        shmemx_signal_wait_until_on_stream(&place->signal, SHMEM_CMP_EQ, 3, stream);
        shmemx_signal_wait_until_on_stream(&place->signal, SHMEM_CMP_GE, 3, stream);
        done();
    });
    row("signal_op_on_stream (ADD)", false, false, [] {
        shmemx_signal_op_on_stream(&place->signal, 1, SHMEM_SIGNAL_ADD, other, stream);
        done();
    });
    row("signal_wait_until_on_stream (NE, GT, LE, LT), wait_until_on_stream", false, false, [] {
        shmemx_signal_wait_until_on_stream(&place->signal, SHMEM_CMP_NE, 99, stream);
        done();
    });
    row("putmem_notify_on_stream, notify_wait_on_stream, notify_reset_on_stream", true, false, [] {
        shmemx_putmem_notify_on_stream(place->to, place->from, 64, 1, other, stream);
        shmemx_notify_wait_on_stream(1, 1, stream);
        shmemx_notify_reset_on_stream(1, 0, stream);
        done();
    });
    row("quiet_on_stream", false, true, [] {
        shmemx_quiet_on_stream(stream);
        done();
    });
    row("barrier_all_on_stream, sync_all_on_stream", true, false, [] {
        shmemx_barrier_all_on_stream(stream);
        done();
    });
    row("broadcast, fcollect, alltoall, reduce on a stream", true, false, [] {
        shmemx_int_sum_reduce_on_stream(SHMEM_TEAM_WORLD, (int *)place->to, (int *)place->from, 8,
                                        stream);
        done();
    });
}

} // namespace

int main(void)
{
    const char *pe = getenv("SHMEM_LAUNCHER_PE");
    CHECK(cudaGetDeviceCount(&gpus));
    CHECK(cudaSetDevice((pe != nullptr ? atoi(pe) : 0) % gpus));
    CHECK(cudaFree(nullptr));
    shmem_init();
    me = shmem_my_pe();
    other = 1 - me;
    CHECK(full_open(&gpu, me % gpus));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    place = (struct place *)shmem_calloc(1, sizeof *place);
    (void)beside([] {}); /* objects that are loaded or made at the first use are made here */
    host_calls();
    stream_calls();
    if (me == 0)
        printf("occupied: %d calls that have to work beside a full GPU do not\n", wrong);
    shmem_barrier_all();
    shmem_finalize();
    return wrong != 0;
}
