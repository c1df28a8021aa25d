/*
 * handlers.c: a libfabric whose libraries install a signal handler, and, with PROGRAM, a program
 * that calls fi_getinfo of it through load.c in two threads at a time. The program prints "kept" if
 * SIGUSR1 has its own disposition afterwards, else "replaced".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* Reports whether SIGUSR1 has the program's disposition. */
static int is_own(void)
{
    struct sigaction now;
    return sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

#ifdef PROGRAM

#include "../load.h"

static void *ask(void *arg)
{
    struct fi_info *list;
    shmemi_ofi_getinfo(0, NULL, &list);
    return arg;
}

int main(int argc, char **argv)
{
    char why[256] = "";
    pthread_t two[2];
    void *library = argc > 1 ? shmemi_ofi_open_library(argv[1], 0, why, sizeof why) : NULL;
    if (library == NULL || shmemi_ofi_bind(library) != NULL) {
        fprintf(stderr, "no library: %s\n", why);
        return 1;
    }
    for (int i = 0; i < 2; i++)
        if (pthread_create(&two[i], NULL, ask, NULL) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(two[i], NULL);
    printf("%s\n", is_own() ? "kept" : "replaced");
    return 0;
}

#else

static atomic_int calls;

static void handle(int number)
{
    (void)number;
}

/* The first call installs the handler and waits for the second one; the second one waits until the
 * handlers of before the first call are back. Both end after half a second in any case: calls that
 * come one after the other do not wait for each other. */
int fi_getinfo(void)
{
    int first = atomic_fetch_add(&calls, 1) == 0;
    if (first)
        sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle}, NULL);
    for (int ms = 0; ms < 500 && (first ? atomic_load(&calls) < 2 : !is_own()); ms++)
        usleep(1000);
    return 0;
}

void fi_version(void)
{
}

void fi_freeinfo(void)
{
}

void fi_dupinfo(void)
{
}

void fi_fabric(void)
{
}

void fi_strerror(void)
{
}

#endif
