/*
 * forked.h: PEs of NVSHMEM that start themselves, by fork, and find each other by its unique ID, so
 * that no launcher and no MPI is needed.
 */
#ifndef BENCH_GPU_FORKED_H
#define BENCH_GPU_FORKED_H

#include <nvshmem.h>
#include <nvshmemx.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Memory that the PEs share: PE 0 writes the id, and then sets ready.
struct meeting {
    std::atomic<int> ready;
    nvshmemx_uniqueid_t id;
};

// Ends this process with a message.
[[noreturn]] static inline void end_forked(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    _Exit(1);
}

// In the parent: waits for the PEs, and ends the program with their status.
[[noreturn]] static inline void watch(const pid_t *pes, int n)
{
    for (int left = n; left > 0; --left) {
        int status = 0;
        if (wait(&status) < 0)
            end_forked("wait for PE", strerror(errno));
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        for (int i = 0; i < n; ++i)
            kill(pes[i], SIGKILL);
        _Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    _Exit(0);
}

/*
 * Starts n PEs, and returns in each of them, after take_gpu and NVSHMEM's init; the parent never
 * returns. Call it before any CUDA call: a context does not survive a fork.
 */
static inline void start_forked(int n, void (*take_gpu)(int pe))
{
    const int most = 16;
    if (n < 1 || n > most)
        end_forked("start PEs", "give from 1 to 16 of them");
    void *shared =
        mmap(nullptr, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        end_forked("share memory", strerror(errno));
    auto *m = new (shared) meeting();
    pid_t pes[most];
    int me = -1;
    for (int i = 0; i < n && me < 0; ++i) {
        pes[i] = fork();
        if (pes[i] < 0)
            end_forked("fork", strerror(errno));
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
            end_forked("get NVSHMEM's unique ID", "it failed (NVSHMEM_DEBUG=INFO says more)");
        m->ready.store(1, std::memory_order_release);
    }
    while (m->ready.load(std::memory_order_acquire) == 0)
        usleep(1000);
    nvshmemx_uniqueid_t id = m->id;
    if (nvshmemx_set_attr_uniqueid_args(me, n, &id, &attr) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        end_forked("start NVSHMEM", "it failed (NVSHMEM_DEBUG=INFO says more)");
}

#endif
