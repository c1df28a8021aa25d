/* late.c: one PE writes, the other one reads after a barrier. Fault: instead of the barrier it
 * counts on the other PE to be quick. */
#include "program.h"

#include <unistd.h>

static long box;

int main(void)
{
    begin();
    if (me == 0)
        shmem_long_p(&box, 7, n - 1);
#ifdef FAULT
    usleep(20000);
#else
    shmem_barrier_all();
#endif
    wrong += me == n - 1 && box != 7;
    end();
}
