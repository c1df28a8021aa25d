/*
 * program.h: what the programs of this folder share. Each is right, or with -DFAULT has one fault
 * that works on most networks. A PE says whether it has got what it was sent.
 */
#include <shmem.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FAULT
#define UNLESS_FAULT(call)
#else
#define UNLESS_FAULT(call) call
#endif

#define ROUNDS 20

static int me, n, wrong;

static inline void begin(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
}

static void end(void)
{
    char text[64];
    snprintf(text, sizeof text, "PE %d: %s", me, wrong ? "wrong" : "right");
    puts(text);
    fflush(stdout);
    shmem_barrier_all();
    shmem_finalize();
}
