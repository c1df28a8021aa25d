/*
 * report_signal.c: on SIGUSR2 this PE reports what it waits for.
 *
 * The handler is installed from the moment the library is loaded until the process ends: a launcher
 * passes the signal to every PE, and a PE before shmem_init or after shmem_finalize must not die of
 * it. Outside of a job the handler does nothing.
 *
 * The library installs no handler in a program that handles or ignores the signal, and a handler
 * that the program installs later replaces the library's.
 */
#define _GNU_SOURCE
#include "report_signal.h"

#include "base.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

/* How many calls of the handler run now. While it is not 0, the core does not close the descriptor
 * to which they write. */
static uint32_t running;

/* Handler of SIGUSR2: requests a report of what this PE waits for. Waiting threads see the request
 * by a count, and the core's thread by a descriptor. */
static void on_signal(int number)
{
    (void)number;
    /* A child of fork() has the handler but is not in the job. */
    if (shmemi_state.n_pes == 0)
        return;
    int saved = errno;
    uint64_t one = 1;
    shmemi_announce_add(&running, 1);
    /* Waiting threads check the count, and the core's thread polls the descriptor. */
    shmemi_count(&shmemi_state.report_requests, 1);
    int fd = shmemi_load_announced(&shmemi_state.report_request_fd);
    if (fd > 0) {
        ssize_t ignored = write(fd, &one, sizeof one);
        (void)ignored;
    }
    shmemi_announce_add(&running, -1);
    errno = saved;
}

/* Installs the handler of SIGUSR2, unless the program handles or ignores that signal. */
void shmemi_report_signal_open(void)
{
    struct sigaction now;
    if (sigaction(SIGUSR2, NULL, &now) != 0 || now.sa_flags & SA_SIGINFO ||
        now.sa_handler != SIG_DFL)
        return;
    struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    /* No other handler may interrupt this one: it might end the process and with it the job, and
     * shmemi_report_signal_close would wait for this handler for ever. */
    sigfillset(&ours.sa_mask);
    sigaction(SIGUSR2, &ours, NULL);
}

/* Waits until no handler uses the descriptor, which the core closes next. */
void shmemi_report_signal_close(void)
{
    /* A handler that begins later finds no descriptor. */
    shmemi_announce(&shmemi_state.report_request_fd, 0);
    while (shmemi_load_announced(&running) != 0)
        sched_yield();
}

/* Installs the handler when the library is loaded. */
__attribute__((constructor)) static void handle_from_the_start(void)
{
    shmemi_report_signal_open();
}
