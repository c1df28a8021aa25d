/* The PE that gave out the ids of teams is lost, and each of the others asks for a team by an id
 * only then: after a barrier that has already told it of the loss, and once more. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { IDS = 2 };

int main(void)
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    uint64_t *ids = nvshmem_malloc(IDS * sizeof *ids), got[IDS];
    for (int i = 0; i < IDS; i++)
        if (nvshmemx_team_get_uniqueid(&ids[i]) != 0)
            return 1;
    nvshmem_barrier_all();
    nvshmem_getmem(got, ids, sizeof got, 0);
    nvshmem_barrier_all();
    if (me == 0)
        kill(getpid(), SIGKILL);
    nvshmem_barrier_all();
    for (int i = 0; i < IDS; i++) {
        nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
        nvshmem_team_t team = 4711;
        config.uniqueid = got[i];
        int rc = nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n, me);
        if (rc == 0 || team != NVSHMEM_TEAM_INVALID) {
            fprintf(stderr, "PE %d has a team of %d PEs with one that is lost\n", me, n);
            return 1;
        }
    }
    printf("PE %d passed\n", me);
    nvshmem_finalize();
    return 0;
}
