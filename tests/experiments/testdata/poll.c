/* poll.c: as quiet.c, with a loop of tests instead of the wait. */
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
        while (!shmem_long_test(&answer, SHMEM_CMP_EQ, 43))
            ;
    }
    if (me == n - 1) {
        while (!shmem_long_test(&question, SHMEM_CMP_EQ, 42))
            ;
        shmem_long_p(&answer, 43, 0);
        shmem_quiet();
    }
    end();
}
