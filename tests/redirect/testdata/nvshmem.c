/* nvshmem.c: a host program of NVSHMEM. With -DDEVICE=0 or 1 it does what the program's part of
 * NVIDIA's device archive does. */
#include <nvshmem.h>
#include <stdio.h>

int nvshmemid_init_status(void);
int nvshmemid_hostlib_init_attr(int requested, int *provided, unsigned flags, void *attributes,
                                ...);

int main(void)
{
#ifdef DEVICE
    int provided;
    if (DEVICE)
        nvshmemid_hostlib_init_attr(2, &provided, 0, NULL, 0ul, NULL);
    nvshmemid_init_status();
#endif
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    long *box = nvshmem_malloc(sizeof *box);
    nvshmem_long_p(box, 100 + me, (me + 1) % n);
    nvshmem_barrier_all();
    printf("PE %d: %d PEs, %ld, team %d\n", me, n, *box, nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD));
    fflush(stdout);
    nvshmem_free(box);
    nvshmem_finalize();
    return 0;
}
