/* A first program of an NVSHMEM user: a ring, teams, atomics, reductions. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>
#include <string.h>

static int failed;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
        failed = 1;
    }
}

int main(void)
{
    check(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED, "the status before init");
    nvshmem_init();
    check(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED, "the status after init");
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n, from = (me + n - 1) % n;

    int major = 0, minor = 0, patch = 0;
    nvshmem_info_get_version(&major, &minor);
    check(major == 1 && minor == 3, "the version of the interface");
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    check(major == 3 && minor == NVSHMEM_VENDOR_MINOR_VERSION, "the version of the release");

    long *box = nvshmem_malloc(64 * sizeof *box);
    uint64_t *count = nvshmem_calloc(2, sizeof *count);
    long values[64];
    for (int i = 0; i < 64; i++)
        values[i] = 100 * me + i;
    nvshmem_long_put(box, values, 64, next);
    nvshmem_uint64_atomic_add(count, 5, next);
    nvshmem_barrier_all();
    for (int i = 0; i < 64; i++)
        check(box[i] == 100 * from + i, "what the neighbour has put");
    check(nvshmem_signal_fetch(count) == 5, "what the neighbour has added");
    check(nvshmem_long_g(box + 3, next) == 100 * me + 3, "what I have put");

    nvshmem_barrier_all();
    nvshmem_long_put_nbi(box, values + 1, 1, next);
    check(nvshmem_barrier(NVSHMEM_TEAM_WORLD) == 0, "the barrier of a team");
    check(box[0] == 100 * from + 1, "a barrier of a team completes puts");
    check(nvshmem_barrier(NVSHMEM_TEAM_INVALID) != 0, "the barrier of no team");

    nvshmem_team_t pair = NVSHMEM_TEAM_INVALID;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER, asked;
    config.num_contexts = 2;
    check(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, &config,
                                     NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS, &pair) == 0,
          "a split");
    check(nvshmem_team_n_pes(pair) == n && nvshmem_team_my_pe(pair) == me, "the team of a split");
    memset(&asked, 1, sizeof asked);
    nvshmem_team_get_config(pair, &asked);
    check(asked.num_contexts == 2 && asked.version == config.version, "the configuration");
    long *sum = nvshmem_align(64, sizeof *sum);
    nvshmem_barrier_all();
    *box = me + 1;
    check(nvshmem_long_sum_reduce(pair, sum, box, 1) == 0 && *sum == (long)n * (n + 1) / 2,
          "a sum");
    check(nvshmemx_mc_ptr(pair, box) == NULL, "an address of multicast");
    nvshmem_team_destroy(pair);

    check(nvshmemx_buffer_register(values, sizeof values) == 0, "a buffer");
    check(nvshmemx_buffer_unregister(values) == 0, "a buffer's end");
    check(strcmp(nvshmemx_status_string(NVSHMEMX_SUCCESS), "success") == 0, "the text of a status");
    nvshmem_free(sum);
    nvshmem_free(count);
    nvshmem_free(box);
    nvshmem_finalize();
    if (!failed)
        printf("PE %d passed\n", me);
    return failed;
}
