/*
 * ask.c: the signal USR2 has this PE say what it waits for.
 *
 * A program that has a handler for the signal, or ignores it, keeps that: then the
 * library stays out of the way. One that installs its own later takes ours away.
 */
#define _GNU_SOURCE
#include "front.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static void on_signal(int number)
{
    (void)number;
    /* A child of fork() has the handler and no part in the job. */
    if (shmemi_state.n_pes == 0)
        return;
    int kept = errno;
    uint64_t one = 1;
    /* Those who wait look at the count, and the core's thread at the descriptor. */
    __atomic_fetch_add(&shmemi_state.asked, 1, __ATOMIC_RELAXED);
    if (shmemi_state.ask_fd > 0) {
        ssize_t ignored = write(shmemi_state.ask_fd, &one, sizeof one);
        (void)ignored;
    }
    errno = kept;
}

static bool has(void (*handler)(int))
{
    struct sigaction now;
    return sigaction(SIGUSR2, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == handler;
}

void shmemi_ask_open(void)
{
    if (!has(SIG_DFL))
        return;
    struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    sigaction(SIGUSR2, &ours, NULL);
}

void shmemi_ask_close(void)
{
    if (has(on_signal))
        signal(SIGUSR2, SIG_DFL);
}
