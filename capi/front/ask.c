/*
 * ask.c: the signal USR2 has this PE say what it waits for.
 *
 * The handler is there from the moment the library is loaded until the process ends: a
 * launcher passes the signal to every PE, and a PE that has not come to shmem_init yet, or
 * has left shmem_finalize, must not die of it. Outside of a job the handler does nothing.
 *
 * A program that has a handler for the signal, or ignores it, keeps that: then the
 * library stays out of the way. One that installs its own later takes ours away.
 */
#define _GNU_SOURCE
#include "ask.h"

#include "base.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

/* Handlers that run now: the core closes the descriptor when there are none. */
static uint32_t running;

static void on_signal(int number)
{
    (void)number;
    /* A child of fork() has the handler and no part in the job. */
    if (shmemi_state.n_pes == 0)
        return;
    int kept = errno;
    uint64_t one = 1;
    __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
    /* Those who wait look at the count, and the core's thread at the descriptor. */
    __atomic_fetch_add(&shmemi_state.asked, 1, __ATOMIC_RELAXED);
    int fd = __atomic_load_n(&shmemi_state.ask_fd, __ATOMIC_SEQ_CST);
    if (fd > 0) {
        ssize_t ignored = write(fd, &one, sizeof one);
        (void)ignored;
    }
    __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
    errno = kept;
}

void shmemi_ask_open(void)
{
    struct sigaction now;
    if (sigaction(SIGUSR2, NULL, &now) != 0 || now.sa_flags & SA_SIGINFO ||
        now.sa_handler != SIG_DFL)
        return;
    struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    /* No other handler comes between, which might end the process and with it the job:
     * shmemi_ask_close would wait for this one. */
    sigfillset(&ours.sa_mask);
    sigaction(SIGUSR2, &ours, NULL);
}

void shmemi_ask_close(void)
{
    __atomic_store_n(&shmemi_state.ask_fd, 0, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) != 0)
        sched_yield();
}

__attribute__((constructor)) static void ask_from_the_start(void)
{
    shmemi_ask_open();
}
