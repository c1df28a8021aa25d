/*
 * block.h: blocks of threads. The threads of a block are contexts of one host thread, which gives
 * its processor to another of them, chosen at random, at each barrier, each look at a word that may
 * change, and many of the stores and atomics that others see. A block of host threads with barriers
 * of the system took ten times as long, and seldom changed between two threads that had no barrier
 * between them.
 */
#ifndef SHMEM_EMULATED_BLOCK_H
#define SHMEM_EMULATED_BLOCK_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sched.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

struct emulated_dim {
    uint32_t x, y, z;
};
static thread_local emulated_dim threadIdx = {0, 0, 0}, blockDim = {1, 1, 1};

/* Of a grid of one block; map.h has these for a GPU. */
static inline uint32_t shmemi_warp(void)
{
    return threadIdx.x / 32;
}

static inline uint32_t shmemi_warps(void)
{
    return (blockDim.x + 31) / 32;
}

struct emulated_barrier {
    uint32_t threads;              /* that meet */
    std::vector<uint32_t> waiting; /* of them */
};

/* Stacks of the threads of blocks that one host thread runs; each begins with a page that faults.
 */
class emulated_stacks
{
    static constexpr size_t size = 256 << 10, guard = 4096;
    std::vector<char *> all;

  public:
    void give(uint32_t thread, stack_t *to)
    {
        while (all.size() <= thread) {
            void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
            if (at == MAP_FAILED || mprotect(at, guard, PROT_NONE) != 0) {
                perror("a stack for a thread of a block");
                abort();
            }
            all.push_back((char *)at);
        }
        to->ss_sp = all[thread];
        to->ss_size = size;
    }
    ~emulated_stacks()
    {
        for (char *at : all)
            munmap(at, size);
    }
};
static thread_local emulated_stacks emulated_stack;

class emulated_block
{
    /* A thread begins as a context, and goes on by _longjmp: swapcontext asks the kernel for the
     * signal mask, which took half of the time of a program. */
    struct thread {
        jmp_buf place;
        bool begun;
        int answer; /* of its last barrier */
    };
    std::unique_ptr<thread[]> threads;
    std::vector<uint32_t> ready; /* threads that wait for the processor */
    jmp_buf host;
    uint32_t size, left, looks = 0;
    uint64_t random;

    uint32_t next(void)
    {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(random >> 33);
    }
    /* Begins a thread on its stack. */
    void begin(uint32_t to)
    {
        static thread_local ucontext_t context;
        getcontext(&context);
        emulated_stack.give(to, &context.uc_stack);
        context.uc_link = nullptr;
        makecontext(&context, (void (*)(void))run, 2, (unsigned)(uintptr_t)this,
                    (unsigned)((uintptr_t)this >> 32));
        threads[to].begun = true;
        setcontext(&context);
        abort();
    }
    /* Runs one of the threads that are ready in place of the one whose place is from. It returns in
     * that one once another thread changes to it, and has set threadIdx. */
    void change(jmp_buf *from)
    {
        if (ready.empty()) {
            if (left == 0)
                _longjmp(host, 1);
            fprintf(stderr,
                    "a block of %u threads: each of %u waits at a barrier that others do "
                    "not reach\n",
                    size, left);
            abort();
        }
        const uint32_t at = next() % (uint32_t)ready.size(), to = ready[at];
        ready[at] = ready.back();
        ready.pop_back();
        if (from == &threads[to].place || (from != nullptr && _setjmp(*from) != 0))
            return;
        threadIdx.x = to;
        if (!threads[to].begun)
            begin(to);
        _longjmp(threads[to].place, 1);
    }
    static void run(unsigned low, unsigned high)
    {
        auto *b = (emulated_block *)((uintptr_t)high << 32 | low);
        b->body(b->kernel);
        b->left--;
        b->change(nullptr);
    }
    void (*body)(const void *kernel);
    const void *kernel;

  public:
    emulated_barrier all;
    std::vector<emulated_barrier> warps;

    explicit emulated_block(uint32_t n) : threads(new thread[n]), size(n), left(n), all{n, {}}
    {
        static thread_local uint64_t blocks;
        random = ++blocks;
        for (uint32_t first = 0; first < n; first += 32)
            warps.push_back({n - first < 32 ? n - first : 32, {}});
    }

    /* Runs the kernel in each thread. */
    void launch(void (*call)(const void *), const void *what)
    {
        body = call;
        kernel = what;
        for (uint32_t i = 0; i < size; i++) {
            threads[i].begun = false;
            ready.push_back(i);
        }
        change(&host);
        threadIdx.x = 0;
    }

    /* Another thread may run here. */
    void turn(void)
    {
        if (size == 1 || next() % 4 != 0)
            return;
        ready.push_back(threadIdx.x);
        change(&threads[threadIdx.x].place);
    }

    /* The thread looks at a word that may change. If all threads do, so does the host's thread:
     * what they look for may lack a processor. */
    void look(void)
    {
        if (++looks > 2 * ready.size() + 32 / size) {
            looks = 0;
            sched_yield();
        }
        ready.push_back(threadIdx.x);
        change(&threads[threadIdx.x].place);
    }

    /* Meets the threads of a barrier, and reports whether mine is not 0 in each of them. */
    int sync(emulated_barrier *at, int mine)
    {
        const uint32_t self = threadIdx.x;
        threads[self].answer = mine != 0;
        at->waiting.push_back(self);
        if (at->waiting.size() == at->threads) {
            int every = 1;
            for (uint32_t t : at->waiting)
                every &= threads[t].answer;
            for (uint32_t t : at->waiting)
                threads[t].answer = every;
            ready.insert(ready.end(), at->waiting.begin(), at->waiting.end());
            at->waiting.clear();
            looks = 0;
        }
        change(&threads[self].place);
        return threads[self].answer;
    }
};
static thread_local emulated_block *emulated_here = nullptr;

/* Runs a kernel as one block of so many threads. */
template <class KERNEL> void emulate(uint32_t threads, KERNEL kernel)
{
    emulated_block block(threads);
    emulated_here = &block;
    blockDim.x = threads;
    block.launch([](const void *k) { (*(const KERNEL *)k)(); }, &kernel);
    emulated_here = nullptr;
    blockDim.x = 1;
}

static inline int emulated_sync(emulated_barrier *at, int mine)
{
    return emulated_here->sync(at, mine);
}
static inline emulated_barrier *emulated_warp(void)
{
    return &emulated_here->warps[threadIdx.x / 32];
}
static inline int __syncthreads_and(int mine)
{
    return emulated_here == nullptr ? mine != 0 : emulated_sync(&emulated_here->all, mine);
}
static inline int __all_sync(uint32_t, int mine)
{
    return emulated_here == nullptr ? mine != 0 : emulated_sync(emulated_warp(), mine);
}
static inline void __syncthreads(void)
{
    (void)__syncthreads_and(1);
}
static inline void __syncwarp(void)
{
    (void)__all_sync(~0u, 1);
}

/* Another thread of the block may run before an access that others see. */
static inline void emulated_turn(void)
{
    if (emulated_here != nullptr)
        emulated_here->turn();
}

/* A thread polls. */
static inline void emulated_look(void)
{
    if (emulated_here != nullptr) {
        emulated_here->look();
        return;
    }
    static thread_local unsigned looks;
    if (++looks % 32 == 0)
        sched_yield();
}

#endif
