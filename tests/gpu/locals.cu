/*
 * locals.cu: local operands of puts and gets in every kind of memory that a program may have, by
 * host calls and kernel calls; and memory that was freed and allocated again at the same address.
 *
 * shmemrun -n 2 locals
 */
#include "try.h"

#include <sys/mman.h>

namespace kernels
{

constexpr size_t MOST = 3 << 20;
const size_t sizes[] = {8, 4000, 100000, MOST - 24};

enum kind { pageable, constant, pinned, registered, managed, device, KINDS };
const char *const names[KINDS] = {"pageable",   "static",  "pinned",
                                  "registered", "managed", "device"};

alignas(64) char fixed[MOST];

char *take(int kind)
{
    char *p = NULL;
    switch (kind) {
    case constant:
        return fixed;
    case pinned:
        CHECK(cudaHostAlloc((void **)&p, MOST, cudaHostAllocDefault));
        return p;
    case managed:
        CHECK(cudaMallocManaged((void **)&p, MOST));
        return p;
    case device:
        CHECK(cudaMalloc((void **)&p, MOST));
        return p;
    }
    p = (char *)aligned_alloc(4096, MOST);
    if (kind == registered)
        CHECK(cudaHostRegister(p, MOST, cudaHostRegisterDefault));
    return p;
}

void give(int kind, char *p)
{
    switch (kind) {
    case constant:
        return;
    case pinned:
        CHECK(cudaFreeHost(p));
        return;
    case managed:
    case device:
        CHECK(cudaFree(p));
        return;
    case registered:
        CHECK(cudaHostUnregister(p));
    }
    free(p);
}

/* Scopes by turns; nbi too. */
KERNEL put_it(char *to, const char *from, size_t n, int pe, int turn)
{
    if (turn == 0 && threadIdx.x == 0)
        shmem_putmem(to, from, n, pe);
    else if (turn == 1 && threadIdx.x < 32)
        shmemx_putmem_nbi_warp(to, from, n, pe);
    else if (turn == 2)
        shmemx_putmem_nbi_block(to, from, n, pe);
    __syncthreads();
    if (threadIdx.x == 0)
        shmem_quiet();
}

KERNEL get_it(char *to, const char *from, size_t n, int pe, int turn)
{
    if (turn == 0 && threadIdx.x == 0)
        shmem_getmem(to, from, n, pe);
    else if (turn == 1 && threadIdx.x < 32)
        shmemx_getmem_nbi_warp(to, from, n, pe);
    else if (turn == 2)
        shmemx_getmem_nbi_block(to, from, n, pe);
    __syncthreads();
    if (threadIdx.x == 0)
        shmem_quiet();
}

KERNEL reaches(char *heap, int pe, int *answer)
{
    *answer = shmem_ptr(heap, pe) != NULL;
}

struct bench {
    char *heap; /* symmetric, MOST bytes */
    std::vector<char> want, have;
    bool touches; /* the GPU reaches pageable memory */
};

void fill(bench *x, char *p, size_t n, int place)
{
    for (size_t i = 0; i < n; i++)
        x->want[i] = (char)pattern(me, place, i);
    copy_memory(p, x->want.data(), n);
}

/* Whether the heap, or p, has the data of PE pe. */
void verify(bench *x, const char *p, size_t n, int pe, int place, const std::string &what)
{
    size_t bad = 0;
    copy_memory(x->have.data(), p, n);
    for (size_t i = 0; i < n; i++)
        bad += x->have[i] != (char)pattern(pe, place, i);
    expect(bad == 0,
           what + ", " + std::to_string(n) + " bytes: " + std::to_string(bad) + " are wrong");
}

bool kernels_may(const bench *x, int kind)
{
    return kind >= pinned || x->touches;
}

/* To the peer and back, by the host and then by a kernel. */
void round_trip(bench *x, int kind, char *p, size_t n, int place)
{
    for (int by = 0; by < 4; by++) {
        if (by > 0 && !kernels_may(x, kind))
            continue;
        std::string what = std::string(by == 0 ? "host, " : "kernel, ") + names[kind];
        fill(x, p, n, place + by);
        shmem_barrier_all();
        if (by == 0)
            shmem_putmem(x->heap, p, n, next_pe);
        else
            LAUNCH(64, put_it, x->heap, p, n, next_pe, by - 1);
        shmem_barrier_all();
        verify(x, x->heap, n, last_pe, place + by, what + ", put");
        copy_memory(p, std::vector<char>(n, 0).data(), n);
        shmem_barrier_all();
        if (by == 0)
            shmem_getmem(p, x->heap, n, next_pe);
        else
            LAUNCH(64, get_it, p, x->heap, n, next_pe, by - 1);
        verify(x, p, n, me, place + by, what + ", get");
        shmem_barrier_all();
    }
}

/* Memory that was freed, and other memory at its address. */
void again(bench *x, int kind)
{
    char *before = NULL;
    int same = 0;
    for (int i = 0; i < 12; i++) {
        char *p = take(kind);
        same += p == before;
        round_trip(x, kind, p, sizes[1 + i % 2], 20 * i);
        give(kind, before = p);
    }
    printf("locals: PE %d: %s memory came back at the same address %d times of 11\n", me,
           names[kind], same);
}

/* The same for pages, whose address the test can choose; then there is no GPU memory. */
void again_pages(bench *x)
{
    const size_t bytes = 1 << 20;
    char *at = (char *)mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 6; i++) {
        char *p = (char *)mmap(at, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (p != at)
            shmem_global_exit(1);
        round_trip(x, pageable, p, sizes[1 + i % 2], 31 * i);
    }
    munmap(at, bytes);
}

void run(void)
{
    bench x;
    int number = 0, touches = 0, direct = 0;
    x.heap = (char *)shmem_malloc(MOST);
    x.want.resize(MOST);
    x.have.resize(MOST);
    CHECK(cudaGetDevice(&number));
    CHECK(cudaDeviceGetAttribute(&touches, cudaDevAttrPageableMemoryAccess, number));
    int *answer = (int *)(void *)own_memory(sizeof *answer);
    LAUNCH(1, reaches, x.heap, next_pe, answer);
    copy_memory(&direct, answer, sizeof direct);
    x.touches = touches;
    printf("locals: PE %d: kernels reach the next PE %s; the GPU %s pageable memory\n", me,
           direct ? "directly" : "by ring", touches ? "reaches" : "does not reach");
    for (int kind = 0; kind < KINDS; kind++) {
        char *p = take(kind);
        for (size_t n : sizes)
            round_trip(&x, kind, p, n, kind);
        round_trip(&x, kind, p + 3, 5001, kind);
        give(kind, p);
    }
    for (int kind : {(int)device, (int)pinned, (int)managed})
        again(&x, kind);
    again_pages(&x);
}

} // namespace kernels

int main(void)
{
    begin("locals");
    kernels::run();
    return end();
}
