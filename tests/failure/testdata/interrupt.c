/*
 * interrupt.c: a signal handler of PE 0 writes to PE 1 until it has interrupted a call that uses
 * the network.
 *
 * usage: interrupt put|wait|test|fetch
 */
#include <shmem.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

static long mark, never;
static uint64_t no_signal;

static void on_alarm(int signal)
{
    (void)signal;
    shmem_long_p(&mark, 1, 1);
}

int main(int argc, char **argv)
{
    static char data[2 << 10];
    struct itimerval often = {.it_interval.tv_usec = 100, .it_value.tv_usec = 100};
    shmem_init();
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &often, NULL);
        while (argc == 2 && strcmp(argv[1], "put") == 0)
            shmem_putmem(data, data + (1 << 10), 1 << 10, 1);
        while (argc == 2 && strcmp(argv[1], "test") == 0)
            shmem_long_test(&never, SHMEM_CMP_EQ, 1);
        while (argc == 2 && strcmp(argv[1], "fetch") == 0)
            shmem_signal_fetch(&no_signal);
    }
    shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
    return 1;
}
