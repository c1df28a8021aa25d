/* Semantics 8: a broadcast in place, and no multicast. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>
#include <string.h>

enum { BYTES = 100000 };

int main(void)
{
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), wrong = 0;
    unsigned char *box = nvshmem_malloc(BYTES);
    for (int root = 0; root < n; root++) {
        memset(box, me == root ? 40 + root : 0, BYTES);
        nvshmem_barrier_all();
        if (nvshmem_broadcastmem(NVSHMEM_TEAM_WORLD, box, box, BYTES, root) != 0)
            return 2;
        nvshmem_barrier_all();
        for (int i = 0; i < BYTES; i++)
            wrong += box[i] != 40 + root;
        memset(box, me == root ? 80 + root : 0, BYTES);
        nvshmem_barrier_all();
        if (nvshmem_char_broadcast(NVSHMEM_TEAM_WORLD, (char *)box, (char *)box, BYTES, root) != 0)
            return 3;
        nvshmem_barrier_all();
        for (int i = 0; i < BYTES; i++)
            wrong += box[i] != 80 + root;
    }
    if (nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, box) != NULL)
        return 4;
    nvshmem_finalize();
    if (wrong != 0) {
        fprintf(stderr, "PE %d: %d bytes are wrong\n", me, wrong);
        return 1;
    }
    printf("PE %d passed\n", me);
    return 0;
}
