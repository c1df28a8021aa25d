/*
 * A program that was built with NVIDIA's device archive, as libnvshmem_host.so.3 sees it: it
 * registers as the archive does, and reads back each structure as kernels would. The variables are
 * memory of the fake GPU, which is memory of the process. Arguments: the minor number of the
 * release, and what to do:
 *
 *   state    the GPU is chosen before init: everything is there when init returns
 *   late     the GPU is chosen after init
 *   refused  the registration is refused
 *   modules  modules and libraries of several versions
 *   exit     the last PE does what nvshmem_global_exit does in a kernel
 *   counts   several programs in a process, in any order of their ends
 */
#define _GNU_SOURCE
#include <nvshmem.h>
#include <nvshmemx.h>

#include "../../../abi/zz_archive.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern int nvshmem_selected_device_transport;
int nvshmemid_hostlib_init_attr(int requested, int *provided, unsigned int flags,
                                nvshmemx_init_attr_t *attr, nvshmemi_version_t archive,
                                int (*callback)(void **, void **));
void nvshmemid_hostlib_finalize(void *state, void *transport);
int nvshmemid_init_status(void);

enum { TEAMS = 9, SYNC = 55296, MOST = 1024, IBGDA = 8384, GUARD = 0x5a };

static int failed, minor, called;

/* Two programs: each has its variables. */
static struct program {
    char state[MOST];
    char transport[IBGDA + 8];
} programs[2];

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
        failed = 1;
    }
}
#define CHECK(good) check(good, #good)

static void *cuda(const char *name)
{
    return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

/* The effect of cudaSetDevice. */
static void use(int number)
{
    int (*start)(unsigned) = (int (*)(unsigned))cuda("cuInit");
    int (*device)(int *, int) = (int (*)(int *, int))cuda("cuDeviceGet");
    int (*retain)(void **, int) = (int (*)(void **, int))cuda("cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *))cuda("cuCtxSetCurrent");
    void *context;
    int handle;
    if (start(0) != 0 || device(&handle, number) != 0 || retain(&context, handle) != 0 ||
        set(context) != 0)
        exit(2);
}

static int find(struct program *p, void **state, void **transport)
{
    called++;
    if (*state != NULL || *transport != NULL)
        exit(3);
    *state = p->state;
    /* As the archive does: from 3.6 on only while the word is 1. */
    if (minor < 6 || nvshmem_selected_device_transport == 1)
        *transport = p->transport;
    return minor < 5 ? 77 : 0; /* nothing, up to 3.4 */
}

static int find_first(void **state, void **transport)
{
    return find(&programs[0], state, transport);
}

static int find_second(void **state, void **transport)
{
    return find(&programs[1], state, transport);
}

static int init(int (*callback)(void **, void **))
{
    int provided = -1;
    nvshmemi_version_t version = {3, minor, 1};
    int rc = nvshmemid_hostlib_init_attr(2, &provided, 0, NULL, version, callback);
    if (rc == 0 && provided != 2)
        exit(4);
    return rc;
}

static int state_bytes(void)
{
    return minor <= 6 ? 776 : minor == 7 ? 816 : 848;
}

static size_t psync_longs(int n)
{
    size_t common = 65536 + 6 * SYNC + 1024 * (size_t)n;
    return minor < 5 ? 2 * SYNC + common : (4 * SYNC + common + (size_t)n + 1) / 2 * 2;
}

static const struct shmemi_archive_team *team_of(int handle)
{
    const struct shmemi_archive_state *s = (const void *)programs[0].state;
    return (const void *)(uintptr_t)((const uint64_t *)(uintptr_t)s->team_pool)[handle];
}

static void check_team(int handle, int start, int stride, int size)
{
    const struct shmemi_archive_team *t = team_of(handle);
    const int n = nvshmem_n_pes(), me = nvshmem_my_pe();
    int rank = -1;
    CHECK(t != NULL);
    if (t == NULL)
        return;
    CHECK(t->version == (minor < 5 ? 0x20318 : 0x40330));
    CHECK(t->start == start && t->size == size && t->team_idx == handle);
    CHECK(size == 1 || t->stride == stride);
    CHECK(t->ll_flag == 1 && t->fcollect_ll_flag == UINT32_MAX && t->rdxn_count == 0);
    CHECK(t->alltoall_count == 0 && t->bcast_count == 0 && t->fcollect_count == 0);
    CHECK(t->are_gpus_p2p_connected && t->nvls_rsc == 0 && t->nvls_rsc_base_ptr == 0);
    CHECK(t->nccl_comm == 0 && t->team_dups[0] == handle && t->team_dups[1] == -1);
    CHECK(t->team_dups[127] == -1);
    CHECK(t->is_team_node == (handle != 3 && handle != 5));
    CHECK(t->is_team_same_mype_node == (handle == 3));
    CHECK(t->team_node == (handle == 0 ? 2 : -1) && t->team_same_mype_node == (handle ? -1 : 3));
    const int32_t *map = (const void *)(uintptr_t)t->pe_mapping;
    for (int i = 0; i < size; i++) {
        CHECK(map[i] == start + i * stride);
        if (map[i] == me)
            rank = i;
    }
    for (int pe = 0; pe < n; pe++) {
        int in = pe >= start && (pe - start) % stride == 0 && (pe - start) / stride < size;
        CHECK(map[size + pe] == (in ? (pe - start) / stride : -1));
    }
    CHECK(t->my_pe == rank);
}

/* The steps of a reduction: in a round of all, each PE gets each contribution exactly once. */
static void check_steps(void)
{
    const struct shmemi_archive_recexch *r = &team_of(0)->reduce_recexch;
    const int n = nvshmem_n_pes(), me = nvshmem_my_pe();
    int whole = 1, phases = 0;
    for (; whole * 2 <= n; whole *= 2)
        phases++;
    int passes = me < 2 * (n - whole) && me % 2 == 0;
    CHECK(r->version == 0x10040 && r->step2_nphases == phases);
    CHECK(r->step1_sendto == (passes ? me + 1 : -1));
    CHECK(r->step1_nrecvs == (me < 2 * (n - whole) && !passes));
    CHECK(r->step1_nrecvs == 0 || *(const int32_t *)(uintptr_t)r->step1_recvfrom == me - 1);
    const uint64_t *lists = (const void *)(uintptr_t)r->step2_nbrs;
    uint64_t seen = 0;
    for (int i = 0; !passes && i < phases; i++) {
        int other = *(const int32_t *)(uintptr_t)lists[i];
        CHECK(other >= 0 && other < n && other != me && !(seen >> other & 1));
        CHECK(other >= 2 * (n - whole) || other % 2 == 1);
        seen |= (uint64_t)1 << other;
    }
}

static void check_state(const struct program *p)
{
    const struct shmemi_archive_state *s = (const void *)p->state;
    const struct shmemi_archive_coll *c = &s->gpu_coll_env_params_var;
    const int n = nvshmem_n_pes(), me = nvshmem_my_pe(), bytes = state_bytes();
    for (int i = bytes; i < MOST; i++)
        if (p->state[i] != GUARD) {
            CHECK(!"the state ends where that of the release does");
            break;
        }
    CHECK(s->version == 0x10000 + bytes);
    CHECK(s->mype == me && s->npes == n && s->node_mype == me && s->node_npes == n);
    CHECK(s->pe_dist == 1 && s->proxy == 1 && s->atomics_sync == 0 && s->job_connectivity == 1);
    CHECK(s->proxy_ops_are_ordered == 1 && s->atomics_complete_on_quiet == 0);
    CHECK(s->symmetric_heap_kind == 0 && s->enable_rail_opt == 0 && s->atomics_le_min_size == 0);
    CHECK(s->timeout != 0 && *(const uint64_t *)(uintptr_t)s->test_wait_any_start_idx_ptr == 0);
    CHECK(s->proxy_channels_buf == 0 && s->proxy_channels_issue == 0);
    CHECK(s->proxy_channel_g_buf_size == UINT64_MAX && s->proxy_channel_buf_logsize == UINT32_MAX);
    CHECK(*(const int *)(uintptr_t)s->global_exit_request_state == 0);
    CHECK(s->global_exit_code == s->global_exit_request_state + 4);
    CHECK(!s->ibgda_is_initialized && s->nvshmemi_is_nvshmem_initialized);
    CHECK(s->nvshmemi_is_nvshmem_bootstrapped);
    CHECK(c->version == 0x20200 && c->barrier_dissem_kval == -1 && c->barrier_tg_dissem_kval == 2);
    CHECK(c->reduce_recexch_kval == 2 && c->bcast_tree_kval == 2 && c->bcast_algo == 0);
    CHECK(c->reduce_algo == 1 && c->fcollect_algo == 0 && c->reducescatter_algo == 0);
    CHECK(c->fcollect_ll_threshold == 2048 && c->fcollect_ll128_threshold == 0);
    CHECK(c->reduce_scratch_size == 524288 && c->reduce_maxloc_algo == 1);
    CHECK(c->fcollect_nvls_threshold == 1 << 24 && c->reducescatter_nvls_threshold == 1 << 24);
    CHECK(c->reduce_nvls_threshold == 2048 && c->fcollect_ll_supported == (minor >= 8));
    if (minor >= 7)
        CHECK(s->selected_device_transport == 0 && s->tma_policy == 0 && s->tma_smem_bases == 0);
    if (minor >= 8)
        CHECK(*(const uint32_t *)(uintptr_t)s->region_active_count == 0 &&
              s->region_slots_len == 0);

    const uint64_t *direct = (const void *)(uintptr_t)s->peer_heap_base_p2p;
    CHECK(direct[me] == s->heap_base && s->peer_heap_base_remote != 0);
    for (int pe = 0; pe < n; pe++)
        CHECK(direct[pe] == (uint64_t)(uintptr_t)nvshmem_ptr((void *)(uintptr_t)s->heap_base, pe));

    /* In the symmetric heap, and clear. */
    const long *psync = (const void *)(uintptr_t)s->psync_pool;
    const long *counters = (const void *)(uintptr_t)s->sync_counter;
    CHECK(s->psync_pool % 16 == 0 && s->psync_pool > s->heap_base);
    CHECK(nvshmem_ptr((void *)(psync + TEAMS * psync_longs(n) - 1), n - 1) != NULL);
    CHECK(s->sync_counter >= s->psync_pool + TEAMS * psync_longs(n) * sizeof(long));
    for (size_t i = 0; i < TEAMS * psync_longs(n); i += 511)
        if (psync[i] != 0) {
            CHECK(!"psync is clear");
            break;
        }
    for (int i = 0; i < 2 * TEAMS; i++)
        CHECK(counters[i] == 1);

    const int32_t *queues = (const void *)(p->transport + 28);
    CHECK(*queues == 256 && p->transport[0] == 0 && p->transport[IBGDA - 1] == 0);
    CHECK(p->transport[IBGDA] == GUARD && nvshmem_selected_device_transport == 0);
}

static void check_predefined(void)
{
    const int n = nvshmem_n_pes(), me = nvshmem_my_pe();
    check_team(0, 0, 1, n);
    check_team(1, 0, 1, n);
    check_team(2, 0, 1, n);
    check_team(3, me, 1, 1);
    CHECK(team_of(3)->stride == n);
    check_team(6, me, 1, 1);
    for (int i = 7; i < TEAMS; i++)
        CHECK(team_of(i) == NULL);
    check_steps();
}

/* Teams come and go, and the heap grows: the state stays, and a slot is clear when it is used
 * again. */
static void change(void)
{
    const struct shmemi_archive_state *s = (const void *)programs[0].state;
    const int n = nvshmem_n_pes(), me = nvshmem_my_pe();
    nvshmem_team_t half, again;
    char before[MOST];
    memcpy(before, programs[0].state, sizeof before);
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, me % 2, 2, (n + 1 - me % 2) / 2, NULL, 0,
                                     &half) == 0);
    CHECK(half == 7);
    check_team(half, me % 2, 2, (n + 1 - me % 2) / 2);
    /* What kernels do. */
    long *psync = (long *)(uintptr_t)s->psync_pool + 7 * psync_longs(n);
    long *counter = (long *)(uintptr_t)s->sync_counter + 2 * 7;
    psync[0] = psync[psync_longs(n) - 1] = counter[0] = 9;
    ((struct shmemi_archive_team *)team_of(half))->ll_flag = 9;
    psync[-1] = 4; /* of another team */
    nvshmem_team_destroy(half);
    CHECK(team_of(7) == NULL);
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &again) == 0);
    CHECK(again == 7 && psync[0] == 0 && psync[psync_longs(n) - 1] == 0 && counter[0] == 1);
    CHECK(psync[-1] == 4);
    psync[-1] = 0;
    check_team(again, 0, 1, n);
    nvshmem_team_destroy(again);
    CHECK(nvshmem_malloc((size_t)96 << 20) != NULL);
    CHECK(memcmp(before, programs[0].state, sizeof before) == 0);
    /* As many teams as there is memory for. */
    nvshmem_team_t last = NVSHMEM_TEAM_INVALID;
    int made = 0;
    while (nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &last) == 0)
        made++;
    CHECK(made == TEAMS - 7);
}

static void *load(const char *text)
{
    int (*data)(void **, const void *) = (int (*)(void **, const void *))cuda("cuModuleLoadData");
    void *module = NULL;
    if (data(&module, text) != 0)
        exit(5);
    return module;
}

static int module_init(const char *text, int library)
{
    void *module = load(text);
    return library ? nvshmemx_culibrary_init(module) : nvshmemx_cumodule_init(module);
}

#define CODE(state, version)                                                                       \
    "global nvshmemi_device_state_d " state "\nglobal nvshmemi_device_lib_version_d 12 " version   \
    "\n"

static void modules(void)
{
    int (*variable)(void **, size_t *, void *, const char *) =
        (int (*)(void **, size_t *, void *, const char *))cuda("cuModuleGetGlobal_v2");
    void *module = load(CODE("776", "3 4 5") "global nvshmemi_ibgda_device_state_d 8384\n");
    void *state, *transport;
    size_t size;
    /* One team more than kernels have memory for. */
    nvshmem_team_t made[3];
    for (int i = 0; i < 3; i++)
        CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, nvshmem_n_pes(), NULL, 0,
                                         &made[i]) == 0);
    CHECK(nvshmemx_cumodule_init(module) == NVSHMEMX_ERROR_INTERNAL);
    for (int i = 0; i < 3; i++)
        nvshmem_team_destroy(made[i]);
    CHECK(nvshmemx_cumodule_init(module) == 0);
    CHECK(variable(&state, &size, module, "nvshmemi_device_state_d") == 0);
    memset(programs[0].state, GUARD, MOST);
    memcpy(programs[0].state, state, 776);
    CHECK(variable(&transport, &size, module, "nvshmemi_ibgda_device_state_d") == 0);
    memcpy(programs[0].transport, transport, IBGDA);
    check_state(&programs[0]);
    check_predefined();
    CHECK(nvshmemx_cumodule_finalize(module) == 0);
    CHECK(((int *)state)[0] == 0 && ((int *)state)[193] == 0);
    CHECK(module_init(CODE("776", "3 3 20"), 0) == 0);
    CHECK(module_init(CODE("816", "3 7 2"), 1) == 0);
    CHECK(module_init(CODE("848", "3 8 0"), 1) == 0);
    CHECK(module_init(CODE("848", "3 9 0"), 0) == NVSHMEMX_ERROR_INTERNAL);
    CHECK(module_init(CODE("776", "4 0 0"), 0) == NVSHMEMX_ERROR_INTERNAL);
    CHECK(module_init(CODE("816", "3 4 5"), 0) == NVSHMEMX_ERROR_INTERNAL);
    CHECK(module_init("global nvshmemi_device_state_d 776\n", 0) == NVSHMEMX_ERROR_INTERNAL);
    CHECK(module_init("kernel none\n", 0) != 0);
}

/* Two programs register, one of them twice, and a third user of the library does not. */
static void counts(void)
{
    CHECK(init(find_second) == 0 && init(find_first) == 0);
    CHECK(nvshmemx_hostlib_init_attr(0, NULL) == 0);
    check_state(&programs[1]);
    CHECK(called == 3);
    nvshmemid_hostlib_finalize(programs[0].state, programs[0].transport);
    check_state(&programs[0]);
    nvshmemx_hostlib_finalize();
    nvshmemid_hostlib_finalize(programs[0].state, NULL);
    CHECK(((int *)programs[0].state)[0] == 0 && nvshmemid_init_status() == 2);
    check_state(&programs[1]);
    /* What the archive does where its init is not complete. */
    int provided;
    CHECK(nvshmemid_hostlib_init_attr(2, &provided, 0, NULL, (nvshmemi_version_t){3, minor, 1},
                                      NULL) == 0);
    nvshmemid_hostlib_finalize(NULL, NULL);
    CHECK(nvshmemid_init_status() == 2);
    /* A child of fork has no job, and cannot join one. */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(nvshmemid_init_status() != 0 || init(find_first) == 0);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *what = argc > 2 ? argv[2] : "";
    minor = argc > 1 ? atoi(argv[1]) : 0;
    memset(programs, GUARD, sizeof programs);
    int rank = atoi(getenv("PMI_RANK") ?: "0"), late = strcmp(what, "late") == 0;
    if (nvshmemid_init_status() != 0 || nvshmem_selected_device_transport != 0)
        return 2;
    if (!late && getenv("FAKE_CUDA") != NULL)
        use(rank % 2);
    if (strcmp(what, "modules") == 0) {
        nvshmemx_hostlib_init_attr(0, NULL);
        modules();
        nvshmemx_hostlib_finalize();
    } else {
        int rc = init(find_first);
        if (strcmp(what, "refused") == 0) {
            printf("PE %s\n", rc == 0 ? "?" : "0 passed");
            return rc == 0;
        }
        CHECK(rc == 0 && nvshmemid_init_status() == (late ? 1 : 2));
        int me = nvshmem_my_pe();
        if (late) {
            CHECK(called == 0);
            use(me % 2);
            CHECK(nvshmem_malloc(64) != NULL && called == 1 && nvshmemid_init_status() == 2);
        }
        check_state(&programs[0]);
        check_predefined();
        if (strcmp(what, "exit") == 0) {
            struct shmemi_archive_state *s = (void *)programs[0].state;
            if (me == nvshmem_n_pes() - 1) {
                *(volatile int *)(uintptr_t)s->global_exit_code = 7;
                *(volatile int *)(uintptr_t)s->global_exit_request_state = 2;
            }
            sleep(20);
            return 1;
        }
        if (strcmp(what, "counts") == 0)
            counts();
        else
            change();
        struct program *left = &programs[strcmp(what, "counts") == 0];
        nvshmemid_hostlib_finalize(left->state, left->transport);
        if (nvshmemid_init_status() != 0 || ((int *)left->state)[0] != 0)
            failed = 1;
    }
    if (!failed)
        printf("PE passed\n");
    return failed;
}
