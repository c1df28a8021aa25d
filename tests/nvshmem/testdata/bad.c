/* Bad input, each by its name: bad_test.go has the library's messages. */
#define _GNU_SOURCE
#include <nvshmem.h>
#include <nvshmemx.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int with(int version)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (nvshmemx_get_uniqueid(&id) != 0 || nvshmemx_set_attr_uniqueid_args(0, 1, &id, &attr) != 0)
        return -1;
    attr.version = version;
    return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "attributes") == 0) {
        int rc = with((3 << 16) + 160);
        printf("%s\n", nvshmemx_status_string(rc));
        return rc == 0;
    }
    if (strcmp(what, "garbage") == 0) /* no version at all */
        return with(0x5a5a5a5a);
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (strcmp(what, "id") == 0)
        return nvshmemx_get_uniqueid(NULL) != 0;
    if (strcmp(what, "rank") == 0)
        return nvshmemx_set_attr_uniqueid_args(5, 2, &id, &attr) != 0;
    if (strcmp(what, "communicator") == 0)
        return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr) != 0;
    if (strcmp(what, "twice") == 0 && (argc < 3 || dlopen(argv[2], RTLD_NOW) == NULL))
        return 2;

    nvshmem_init();
    nvshmem_team_t team = NVSHMEM_TEAM_WORLD;
    if (strcmp(what, "foreign") == 0) {
        nvshmem_team_sync((nvshmem_team_t)8); /* NVSHMEM's number of a program's second team */
    } else if (strcmp(what, "pointer") == 0) {
        nvshmem_long_sum_reduce((nvshmem_team_t)0x5613a2c0, NULL, NULL, 0);
    } else if (strcmp(what, "ask") == 0) {
        nvshmem_team_my_pe((nvshmem_team_t)8);
    } else if (strcmp(what, "stale") == 0) {
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, nvshmem_n_pes(), NULL, 0, &team);
        nvshmem_team_destroy(team);
        nvshmem_barrier(team);
    } else if (strcmp(what, "again") == 0) { /* the slot has another team by now */
        nvshmem_team_t next;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, nvshmem_n_pes(), NULL, 0, &team);
        nvshmem_team_destroy(team);
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, nvshmem_n_pes(), NULL, 0, &next);
        nvshmem_team_translate_pe(team, 0, NVSHMEM_TEAM_WORLD);
    } else if (strcmp(what, "contexts") == 0) {
        nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
        config.num_contexts = -1;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, nvshmem_n_pes(), &config,
                                   NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS, &team);
    } else if (strcmp(what, "pe") == 0) {
        int *box = nvshmem_malloc(sizeof *box);
        nvshmem_int_p(box, 1, nvshmem_n_pes());
    }
    nvshmem_finalize();
    nvshmem_team_sync(team); /* behind finalize */
    return 0;
}
