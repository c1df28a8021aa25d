/* blocks.c: blocks of a matrix on a context and without one, and a signal. Fault: no fence before
 * it. */
#include "program.h"

enum { HIGH = 64, WIDE = 8, BLOCK = 3 };

static long matrix[2][HIGH][WIDE];
static uint64_t arrived;

int main(void)
{
    begin();
    static long source[HIGH][BLOCK + 1];
    int right = (me + 1) % n;
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < HIGH; i++)
            for (int k = 0; k <= BLOCK; k++)
                source[i][k] = 1000 * round + 10 * i + k;
        shmem_long_ibput(&matrix[0][0][2], &source[0][0], WIDE, BLOCK + 1, BLOCK, HIGH, right);
        shmem_ctx_long_ibput(SHMEM_CTX_DEFAULT, &matrix[1][0][2], &source[0][0], WIDE, BLOCK + 1,
                             BLOCK, HIGH, right);
        UNLESS_FAULT(shmem_fence());
        shmem_signal_add(&arrived, 1, right);
        shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, (uint64_t)round);
        for (int i = 0; i < HIGH; i++)
            for (int k = 0; k < WIDE; k++)
                for (int m = 0; m < 2; m++)
                    wrong += matrix[m][i][k] !=
                             (k < 2 || k >= 2 + BLOCK ? 0 : 1000 * round + 10 * i + k - 2);
        shmem_barrier_all();
    }
    end();
}
