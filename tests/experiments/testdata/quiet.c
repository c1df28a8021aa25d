/* quiet.c: PE 0 asks by a nonblocking put and waits for the answer. Fault: without a quiet the
 * question may never go. */
#include "program.h"

static long question, answer;

int main(void)
{
    begin();
    static long source;
    source = 42;
    if (me == 0) {
        shmem_long_put_nbi(&question, &source, 1, n - 1);
        UNLESS_FAULT(shmem_quiet());
    }
    if (me == n - 1) {
        shmem_long_wait_until(&question, SHMEM_CMP_EQ, 42);
        shmem_long_p(&answer, 43, 0);
        shmem_quiet();
    }
    if (me == 0)
        shmem_long_wait_until(&answer, SHMEM_CMP_EQ, 43);
    end();
}
