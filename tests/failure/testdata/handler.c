/*
 * handler.c: a signal handler that runs while the library sends ends the process by exit. Programs
 * do that although they should not.
 *
 * usage: handler STATUS MICROSECONDS
 */
#include <shmem.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static int status;

static void on_alarm(int signal)
{
    (void)signal;
    exit(status);
}

int main(int argc, char **argv)
{
    static char data[2 << 20];
    static uint64_t sent;
    status = argc == 3 ? atoi(argv[1]) : 1;
    signal(SIGALRM, on_alarm);
    shmem_init();
    int right = (shmem_my_pe() + 1) % shmem_n_pes();
    shmem_barrier_all();
    struct itimerval once = {.it_value.tv_usec = argc == 3 ? atoi(argv[2]) : 1};
    if (setitimer(ITIMER_REAL, &once, NULL) != 0)
        abort();
    /* As many bytes as Go sends together with the signal: C serves smaller and larger puts. */
    for (;;)
        shmem_putmem_signal_nbi(data, data + (1 << 20), 3000, &sent, 1, SHMEM_SIGNAL_ADD, right);
}
