/*
 * interleave.h: tries every place where a second thread may come between the steps of a first one.
 *
 * The pages of the words that both use are protected, so each access of the first part faults. The
 * handler runs the second part before the access whose turn it is, lets the access through by a
 * single step, and protects the pages again. So all interleavings in which the second part runs as
 * a whole are tried, each once, and each failure names its place.
 */
#ifndef INTERLEAVE_H
#define INTERLEAVE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG 0x100 /* of x86: a trap after the next instruction */
#define PAGE ((uintptr_t)4096)

/* On pages of its own, which are never protected. */
static struct {
    _Alignas(4096) struct {
        char *at;
        size_t size;
    } pages[4];
    int n_pages;
    int turn, accesses; /* the second part runs before this access of the first one */
    void (*second)(void);
    int passed, failed;
} interleave;

/* Both parts use n bytes from here on. */
static void shared_words(const void *at, size_t n)
{
    uintptr_t from = (uintptr_t)at & -PAGE, to = ((uintptr_t)at + n + PAGE - 1) & -PAGE;
    interleave.pages[interleave.n_pages].at = (char *)from;
    interleave.pages[interleave.n_pages++].size = to - from;
}

static void protect(int how)
{
    for (int i = 0; i < interleave.n_pages; i++)
        if (mprotect(interleave.pages[i].at, interleave.pages[i].size, how) != 0)
            abort();
}

static void at_access(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    bool ours = false;
    for (int i = 0; i < interleave.n_pages; i++)
        ours |=
            (uintptr_t)info->si_addr - (uintptr_t)interleave.pages[i].at < interleave.pages[i].size;
    if (!ours) {
        signal(number, SIG_DFL);
        return;
    }
    protect(PROT_READ | PROT_WRITE);
    if (++interleave.accesses == interleave.turn)
        interleave.second();
    u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void after_access(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    protect(PROT_NONE);
}

/* Runs before, first with second at each of its accesses in turn, and check. The last time second
 * runs behind first. */
static void interleave_all(void (*before)(void), void (*first)(void), void (*second)(void),
                           void (*check)(void))
{
    struct sigaction fault = {.sa_sigaction = at_access, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction step = {.sa_sigaction = after_access, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGTRAP, &step, NULL);
    bool between = true;
    interleave.second = second;
    for (interleave.turn = 1; between; interleave.turn++) {
        before();
        interleave.accesses = 0;
        protect(PROT_NONE);
        first();
        protect(PROT_READ | PROT_WRITE);
        between = interleave.accesses >= interleave.turn;
        if (!between)
            second();
        check();
    }
    if (interleave.turn < 4) { /* the first part does not use the words */
        fprintf(stderr, "%d accesses: the test looks in the wrong place\n", interleave.accesses);
        interleave.failed++;
    }
}

#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (condition) {                                                                           \
            interleave.passed++;                                                                   \
        } else if (interleave.failed++ < 10) {                                                     \
            fprintf(stderr, "before access %d: ", interleave.turn);                                \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
    } while (0)

static int interleave_result(void)
{
    printf("%d passed, %d failed\n", interleave.passed, interleave.failed);
    return interleave.failed != 0;
}

#endif
