/* sync.c: a nonblocking put, and then a sync, which completes nothing. Fault: no quiet before it.
 */
#include "program.h"

static long box;

int main(void)
{
    begin();
    static long source;
    for (int round = 0; round < ROUNDS; round++) {
        source = round + 1;
        shmem_long_put_nbi(&box, &source, 1, (me + 1) % n);
        UNLESS_FAULT(shmem_quiet());
        shmem_sync_all();
        wrong += box != round + 1;
        shmem_barrier_all();
    }
    end();
}
