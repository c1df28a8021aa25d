/* column.c: a column of a matrix, and in the next column its flag. Fault: no fence between them. */
#include "program.h"

enum { HIGH = 128, WIDE = 4 };

static long matrix[HIGH][WIDE];

int main(void)
{
    begin();
    static long source[HIGH][2];
    int right = (me + 1) % n;
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < HIGH; i++) {
            source[i][0] = 1000 * round + i;
            source[i][1] = -1;
        }
        shmem_long_iput(&matrix[0][1], &source[0][0], WIDE, 2, HIGH, right);
        UNLESS_FAULT(shmem_fence());
        shmem_long_p(&matrix[2][2], round, right);
        shmem_long_wait_until(&matrix[2][2], SHMEM_CMP_EQ, round);
        for (int i = 0; i < HIGH; i++)
            wrong += matrix[i][1] != 1000 * round + i || matrix[i][0] != 0;
        shmem_barrier_all();
    }
    end();
}
