/*
 * fault.c: a PE that faults in the Go half ends at once, by the signal of the fault.
 *
 * The Go runtime handles SIGSEGV, SIGBUS and SIGFPE from the moment the core is loaded. When it
 * cannot turn one into a panic, because kill() sent it or C code called from Go caused it, Go
 * prints a traceback and ends the process. In a shared library Go first sends SIGQUIT to the
 * process, once for each of its threads, so that each prints its own stack, and waits up to 10 s
 * for them. Its threads block that signal like all others (loader.c), so the whole job would wait
 * these 10 s, and then see SIGABRT.
 *
 * So the handler in this file calls Go's handler, and while that runs, SIGQUIT ends the process by
 * the signal of the fault.
 */
#define _GNU_SOURCE
#include "fault.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* The signals of faults, for which Go has handlers. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE};

static struct sigaction go_action[NSIG]; /* the handlers that the Go runtime has set */
static volatile sig_atomic_t fault;      /* the signal whose Go handler runs */

/* Handles SIGQUIT while Go handles a fault: Go has printed its traceback, and has sent SIGQUIT to
 * get those of its other threads. Ends the process by the signal of the fault. */
static void on_quit(int number)
{
    (void)number;
    int number_of_fault = fault;
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number_of_fault);
    signal(number_of_fault, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    raise(number_of_fault);
    _exit(128 + number_of_fault); /* as a shell shows the signal, if raise has returned */
}

/* Handles a fault: runs Go's handler, during which SIGQUIT, which that handler may send, ends the
 * process (on_quit). Threads of Go block SIGQUIT, so this one unblocks it meanwhile. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    struct sigaction ours = {.sa_handler = on_quit, .sa_flags = SA_ONSTACK}, before;
    sigset_t quit, mask;
    sigfillset(&ours.sa_mask);
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    fault = number;
    sigaction(SIGQUIT, &ours, &before);
    pthread_sigmask(SIG_UNBLOCK, &quit, &mask);
    go_action[number].sa_sigaction(number, info, context);
    /* Go has turned the fault into a panic, passed it to the program's earlier handler, or left the
     * default action to take place when this returns. */
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (before.sa_handler != on_quit) /* another thread that handles a fault restores it */
        sigaction(SIGQUIT, &before, NULL);
}

/* Puts on_fault in front of the handlers that the Go runtime has just installed. */
void shmemi_fault_open(void)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct sigaction *go = &go_action[faults[i]];
        if (sigaction(faults[i], NULL, go) != 0 || !(go->sa_flags & SA_SIGINFO) ||
            !(go->sa_flags & SA_ONSTACK))
            continue; /* the handler is not Go's: the program ignores the signal */
        struct sigaction ours = *go;
        ours.sa_sigaction = on_fault;
        sigaction(faults[i], &ours, NULL);
    }
}
