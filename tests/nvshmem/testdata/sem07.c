/* Semantics 7: nvshmem_barrier of a team completes its PEs' puts to any PE. Versions. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <sched.h>
#include <stdio.h>

enum { WORDS = 20000, ROUNDS = 50 };

int main(void)
{
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), wrong = 0, major, minor, patch;
    nvshmem_info_get_version(&major, &minor);
    if (major != 1 || minor != 3)
        return 2;
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    if (major != NVSHMEM_VENDOR_MAJOR_VERSION || minor != NVSHMEM_VENDOR_MINOR_VERSION)
        return 3;
    nvshmem_team_t evens = NVSHMEM_TEAM_INVALID;
    int odd = me % 2;
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, odd, 2, (n + 1 - odd) / 2, NULL, 0, &evens);
    if (nvshmem_barrier(NVSHMEM_TEAM_INVALID) == 0 || nvshmem_barrier(evens) != 0)
        return 4;
    int *box = nvshmem_calloc(WORDS, sizeof *box), *flag = nvshmem_calloc(1, sizeof *flag);
    int *from = nvshmem_malloc(WORDS * sizeof *from);
    nvshmem_barrier_all();
    for (int round = 1; round <= ROUNDS; round++) {
        if (odd) { /* the data before the flag */
            while (nvshmem_int_g(flag, me) < round)
                sched_yield();
            for (int i = 0; i < WORDS; i++)
                wrong += box[i] != round * 1000 + i % 1000;
        } else if (me + 1 < n) {
            for (int i = 0; i < WORDS; i++)
                from[i] = round * 1000 + i % 1000;
            nvshmem_int_put_nbi(box, from, WORDS, me + 1);
        }
        if (!odd) {
            nvshmem_barrier(evens);
            if (me + 1 < n)
                nvshmem_int_p(flag, round, me + 1);
        }
        nvshmem_barrier_all();
    }
    nvshmem_finalize();
    if (wrong != 0) {
        fprintf(stderr, "PE %d: %d words came after the flag\n", me, wrong);
        return 1;
    }
    printf("PE %d passed\n", me);
    return 0;
}
