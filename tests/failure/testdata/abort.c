/*
 * abort.c: PE 0 makes a call that ends the job while stdio holds output of the program.
 *
 * The argument says where: plain; locked, while another thread has the lock of stdout; own, while
 * this thread has it; handler, in a handler of a signal that interrupts nothing of stdio; stack, in
 * one on the signal stack; child, in a child of fork(); thread, in a thread of the program's.
 */
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int *word;

static void *end_job(void *arg)
{
    (void)arg;
    shmem_int_p(word, 1, shmem_n_pes());
    return NULL;
}

static void handler(int number)
{
    (void)number;
    end_job(NULL);
}

static void handle_signal(int flags)
{
    static char stack[1 << 16];
    stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    if (flags & SA_ONSTACK)
        sigaltstack(&s, NULL);
    sigaction(SIGALRM, &a, NULL);
    raise(SIGALRM);
}

static void *lock_stdout(void *arg)
{
    flockfile(stdout);
    pthread_barrier_wait(arg);
    pause();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_barrier_t locked;
    shmem_init();
    word = shmem_calloc(1, sizeof *word);
    const char *where = argc > 1 ? argv[1] : "";
    if (shmem_my_pe() == 0) {
        printf("the last that PE 0 printed");
        if (strcmp(where, "locked") == 0) {
            pthread_barrier_init(&locked, NULL, 2);
            pthread_create(&thread, NULL, lock_stdout, &locked);
            pthread_barrier_wait(&locked);
        } else if (strcmp(where, "own") == 0) {
            flockfile(stdout);
        } else if (strcmp(where, "handler") == 0) {
            handle_signal(0);
        } else if (strcmp(where, "stack") == 0) {
            handle_signal(SA_ONSTACK);
        } else if (strcmp(where, "child") == 0) {
            pid_t child = fork();
            if (child != 0) {
                waitpid(child, NULL, 0);
                _exit(0); /* stdio's buffer is lost here, so any output is the child's */
            }
        } else if (strcmp(where, "thread") == 0) {
            pthread_create(&thread, NULL, end_job, NULL);
            pthread_join(thread, NULL);
        }
        end_job(NULL);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
