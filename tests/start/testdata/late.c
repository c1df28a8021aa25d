/*
 * late.c: the example plugin, where each sleep takes 20 times as long as it is asked to, as on a
 * machine with much other work. Prints what a barrier and an allgather of PE 0 of 2 return when PE
 * 1 does not come, and whether they have taken between one and five times their time.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int sleep_long(useconds_t us)
{
    struct timespec t = {0, 20000L * (long)us};
    return nanosleep(&t, NULL);
}

#define usleep sleep_long
#include "../../../examples/plugins/bootstrap/plugin.c"

static double ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void)
{
    const int timeout = 100;
    char mine = 1, all[2];
    double start = ms();
    int barrier = shmemx_bootstrap_barrier(timeout);
    double took = ms() - start;
    int gather = shmemx_bootstrap_allgather(&mine, all, 1, timeout);
    double then = ms() - start - took;
    bool in_time =
        took >= timeout - 1 && took < 5 * timeout && then >= timeout - 1 && then < 5 * timeout;
    printf("barrier %d, allgather %d: %s\n", barrier, gather, in_time ? "in time" : "not in time");
    return 0;
}
