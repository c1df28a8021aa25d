/*
 * Semantics 2: the teams that follow from the GPUs of the PEs, also if those are chosen after init.
 * "chosen": half of the PEs of a node take GPU 0, the others GPU 1, although init has assigned them
 * in turn.
 */
#define _GNU_SOURCE
#include <nvshmem.h>
#include <nvshmemx.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int failed;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
        failed = 1;
    }
}

/* The effect of cudaSetDevice. */
static void use(int number)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int (*device)(int *, int) = (int (*)(int *, int))dlsym(cuda, "cuDeviceGet");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *))dlsym(cuda, "cuCtxSetCurrent");
    int handle;
    if (device(&handle, number) != 0 || retain(&context, handle) != 0 || set(context) != 0)
        exit(2);
}

int main(int argc, char **argv)
{
    int gpus = argc > 1 ? atoi(argv[1]) : 0, chosen = argc > 2;
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    int mine = nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE);
    int near = nvshmem_team_n_pes(NVSHMEMX_TEAM_NODE);
    int gpu = gpus == 0 ? mine : mine % gpus; /* without a GPU each PE is alone */
    if (chosen)
        use(gpu = mine >= (near + 1) / 2);

    long *from = nvshmem_malloc(2 * sizeof *from);
    long *all = nvshmem_malloc(2 * (size_t)n * sizeof *all);
    from[0] = nvshmem_team_translate_pe(NVSHMEMX_TEAM_NODE, 0, NVSHMEM_TEAM_WORLD);
    from[1] = gpu;
    check(nvshmem_long_fcollect(NVSHMEM_TEAM_WORLD, all, from, 2) == 0, "to tell the others");

    nvshmem_team_t same = NVSHMEMI_TEAM_SAME_GPU, leaders = NVSHMEMI_TEAM_GPU_LEADERS;
    int sharing = 0, firsts = 0, rank = -1, first = -1;
    long sum = 0, top = 0;
    for (int pe = 0; pe < n; pe++) {
        int leads = 1;
        for (int before = 0; before < pe; before++)
            leads &= all[2 * before] != all[2 * pe] || all[2 * before + 1] != all[2 * pe + 1];
        if (leads) {
            if (pe == me)
                first = firsts;
            top += pe;
            firsts++;
        }
        if (all[2 * pe] != from[0] || all[2 * pe + 1] != gpu)
            continue;
        check(nvshmem_team_translate_pe(same, sharing, NVSHMEM_TEAM_WORLD) == pe,
              "the PEs that share");
        if (pe == me)
            rank = sharing;
        sum += pe;
        sharing++;
    }
    check(nvshmem_team_my_pe(same) == rank, "my number among the PEs that share");
    check(nvshmem_team_n_pes(same) == sharing, "how many share");
    check(nvshmem_team_my_pe(leaders) == first, "my number of the leaders");
    check(nvshmem_team_n_pes(leaders) == (first < 0 ? -1 : firsts), "how many leaders");
    check(nvshmem_team_translate_pe(same, 0, leaders) == (first < 0 ? -1 : first), "my leader");
    check(nvshmem_team_n_pes(NVSHMEM_TEAM_MC_SHARED) == 1, "multicast");
    check(nvshmem_team_translate_pe(NVSHMEM_TEAM_MC_SHARED, 0, NVSHMEM_TEAM_WORLD) == me, "me");

    for (int round = 0; round < 20; round++) {
        from[0] = me;
        check(nvshmem_long_sum_reduce(same, all, from, 1) == 0 && all[0] == sum, "a sum of a GPU");
        check((nvshmem_long_sum_reduce(leaders, all, from, 1) == 0) == (first >= 0), "leaders");
        check(first < 0 || all[0] == top, "the sum of the leaders");
        check(nvshmem_barrier(same) == 0 && nvshmem_barrier(NVSHMEM_TEAM_MC_SHARED) == 0,
              "barrier");
    }

    /* Each makes a team of itself from the PEs of its GPU, then the leaders are halved. */
    nvshmem_team_t alone, part = NVSHMEM_TEAM_INVALID;
    check(nvshmem_team_split_strided(same, rank, 1, 1, NULL, 0, &alone) == 0, "a split of a GPU");
    check(alone >= NVSHMEM_TEAMS_MIN && nvshmem_team_n_pes(alone) == 1, "its team");
    int rc = nvshmem_team_split_strided(leaders, first / 2 * 2, 1,
                                        firsts - first / 2 * 2 < 2 ? 1 : 2, NULL, 0, &part);
    check((rc == 0) == (first >= 0), "a split of the leaders");
    check(first < 0 ? part == NVSHMEM_TEAM_INVALID : nvshmem_team_my_pe(part) == first % 2, "it");
    nvshmem_team_destroy(part);
    nvshmem_team_destroy(alone);
    nvshmem_free(all);
    nvshmem_free(from);
    nvshmem_finalize();
    if (!failed)
        printf("PE %d passed\n", me);
    return failed;
}
