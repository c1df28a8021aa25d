/*
 * stackless.c: ends when the main thread no longer has a signal stack, as with Python's
 * faulthandler, while another thread sends it the signal by which Go preempts.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *disturb(void *arg)
{
    (void)arg;
    for (;;)
        syscall(SYS_tgkill, getpid(), getpid(), SIGURG);
    return NULL;
}

int main(void)
{
    static char stack[1 << 16];
    pthread_t thread;
    if (sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL) != 0)
        return 2;
    shmem_init();
    shmem_finalize();
    if (sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL) != 0 ||
        pthread_create(&thread, NULL, disturb, NULL) != 0)
        return 2;
    usleep(1000); /* usually the other thread has begun by then */
    puts("ends");
    return 0;
}
