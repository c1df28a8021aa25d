/*
 * start.h: two PEs, each with a GPU of its own where there are two.
 *
 * libshmem's are started by shmemrun. NVSHMEM's start themselves, by fork, and
 * meet by its unique ID, so that no launcher and no MPI is needed. GPUs are
 * dealt by the number of the PE, not by its place on its host: two PEs on two
 * simulated hosts have two GPUs, too.
 */
#ifndef BENCH_GPU_START_H
#define BENCH_GPU_START_H

#include <atomic>
#include <csignal>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "names.h"
#include "rows.h"

static inline void take_gpu(int pe)
{
    int n = 0;
    need(cudaGetDeviceCount(&n), "count GPUs");
    if (n == 0)
        give_up("count GPUs", "there is none");
    need(cudaSetDevice(pe % n), "take GPU");
    need(cudaFree(nullptr), "open GPU");
}

#ifdef BENCH_NVSHMEM

struct meeting {
    std::atomic<int> ready;
    nvshmemx_uniqueid_t id;
};

// In the parent: waits for the PEs, and ends the program as they do.
[[noreturn]] static inline void watch(const pid_t *pes, int n)
{
    for (int left = n; left > 0; --left) {
        int status = 0;
        if (wait(&status) < 0)
            give_up("wait for PE", strerror(errno));
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        for (int i = 0; i < n; ++i)
            kill(pes[i], SIGKILL);
        _Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    _Exit(0);
}

static inline void start()
{
    const int n = 2;
    // Before any CUDA call: a context does not survive a fork.
    void *shared =
        mmap(nullptr, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        give_up("share memory", strerror(errno));
    auto *m = new (shared) meeting();
    pid_t pes[n];
    int me = -1;
    for (int i = 0; i < n && me < 0; ++i) {
        pes[i] = fork();
        if (pes[i] < 0)
            give_up("fork", strerror(errno));
        if (pes[i] == 0)
            me = i;
    }
    if (me < 0)
        watch(pes, n);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    take_gpu(me);
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (me == 0) {
        m->id = NVSHMEMX_UNIQUEID_INITIALIZER;
        if (nvshmemx_get_uniqueid(&m->id) != 0)
            give_up("get NVSHMEM's unique ID", "it failed (NVSHMEM_DEBUG=INFO says more)");
        m->ready.store(1, std::memory_order_release);
    }
    while (m->ready.load(std::memory_order_acquire) == 0)
        usleep(1000);
    nvshmemx_uniqueid_t id = m->id;
    if (nvshmemx_set_attr_uniqueid_args(me, n, &id, &attr) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        give_up("start NVSHMEM", "it failed (NVSHMEM_DEBUG=INFO says more)");
}

#else

static inline void start()
{
    take_gpu(atoi(setting("SHMEM_LAUNCHER_PE", "0")));
    shmem_init();
    if (shmem_n_pes() != 2)
        give_up("start libshmem", "the figures are of 2 PEs (shmemrun -n 2)");
}

#endif

// Symmetric memory, which a benchmark always gets or ends.
static inline void *symmetric(size_t bytes)
{
    void *p = shmem_malloc(bytes);
    if (p == nullptr)
        give_up("allocate symmetric memory", "there is not enough (SHMEM_SYMMETRIC_SIZE)");
    return p;
}

#endif
