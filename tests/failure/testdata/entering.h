/*
 * entering.h: a PE that is about to die waits until each of the others is at the call that is to
 * end by its death, however busy the machine is.
 */
#ifndef ENTERING_H
#define ENTERING_H

#include <shmem.h>
#include <unistd.h>

static int *entering; /* symmetric */

/* The next call is the one. */
static void enter(void)
{
    __atomic_store_n(entering, 1, __ATOMIC_RELEASE);
}

static void await_others(void)
{
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        while (pe != shmem_my_pe() && shmem_int_atomic_fetch(entering, pe) == 0)
            usleep(1000);
    usleep(20000); /* on an idle machine they are inside by now */
}

#endif
