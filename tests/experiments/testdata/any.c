/* any.c: as poll.c, with tests of several words, and an answer that comes late. Fault: the answer
 * depends on a put that no quiet completes. */
#include "program.h"

#include <unistd.h>

static long question, answers[2];

int main(void)
{
    begin();
    static long source;
    source = 42;
    if (me == 0) {
        shmem_long_put_nbi(&question, &source, 1, n - 1);
        while (shmem_long_test_any(answers, 2, NULL, SHMEM_CMP_EQ, 43) != 1)
            ;
    }
    if (me == n - 1) {
#ifdef FAULT
        while (!shmem_long_test(&question, SHMEM_CMP_EQ, 42))
            ;
#else
        usleep(1700000); /* the shim sends the put after a second, and watches the tests for half */
#endif
        shmem_long_p(&answers[1], 43, 0);
        shmem_quiet();
    }
    end();
}
