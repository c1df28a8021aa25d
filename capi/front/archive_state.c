/*
 * archive_state.c: the contents of the structures that device code of NVIDIA's archive reads. What
 * each member means to that code was read in the headers of NVIDIA's wheels and in what NVIDIA's
 * library writes there.
 */
#include "archive_state.h"

#include "units.h"

#include <shmem/unit.h>
#include <shmemx.h>

/* Most NVSHMEM structures begin with a version: a number, and their size in bytes. */
#define VERSION(number, size) ((number) << 16 | (int32_t)(size))

/* ALIGNMENT: of sync, of the table `direct`, of the first pool, and of the bytes of a team with its
 * lists; other parts follow one another. PHASES: the longest list of a team's neighbours.
 * UNUSED: in a member that this code does not read. */
enum { ALIGNMENT = 64, PHASES = 32, UNUSED = -1 };

/* Returns n rounded up to a multiple of `to`. */
static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* The lists that follow a team's structure, to which that structure points. */
struct lists {
    uint64_t phases[PHASES]; /* the addresses of neighbours[i] */
    int32_t neighbours[PHASES];
    int32_t from[2];   /* the PE for which this one reduces */
    int32_t mapping[]; /* the PEs of the team, then for each PE of the job its number there */
};

/* Returns the length, in longs, of the memory of one team of up to n PEs. It has sync areas: up to
 * 3.4 one for syncs and one for splits; later two for each, used alternately, and a word for each
 * PE. After them come the scratch of reductions, 5 areas for broadcasts, the memory of short
 * fcollects, and one area for alltoalls. */
size_t shmemi_archive_psync(enum shmemi_archive_family family, int n)
{
    size_t collect = (size_t)n * (2 * 2 * SHMEMI_ARCHIVE_LL / sizeof(long));
    size_t common = SHMEMI_ARCHIVE_SCRATCH / sizeof(long) + 5 * SHMEMI_ARCHIVE_SYNC + collect +
                    SHMEMI_ARCHIVE_SYNC;
    return family == SHMEMI_ARCHIVE_3_3 ? 2 * SHMEMI_ARCHIVE_SYNC + common
                                        : round_up(4 * SHMEMI_ARCHIVE_SYNC + common + (size_t)n, 2);
}

/* Sets where each part of the memory is (struct shmemi_archive_places), in a job of n PEs, with
 * room for `teams` teams. */
void shmemi_archive_place(struct shmemi_archive_places *p, int n, uint32_t teams)
{
    size_t at = 0;
    p->n_teams = teams;
    for (int f = 0; f < SHMEMI_ARCHIVE_FAMILIES; f++) {
        p->psync[f] = at;
        at = round_up(at + teams * shmemi_archive_psync(f, n) * sizeof(long), ALIGNMENT);
        p->sync[f] = at;
        at += teams * 2 * sizeof(long);
    }
    p->words = at;
    at = round_up(at + sizeof(struct shmemi_archive_words), ALIGNMENT);
    p->direct = at;
    at += (size_t)n * sizeof(uint64_t);
    p->remote = at;
    at = round_up(at + (size_t)n * sizeof(uint64_t), ALIGNMENT);
    p->team = round_up(sizeof(struct shmemi_archive_team) + sizeof(struct lists) +
                           2 * (size_t)n * sizeof(int32_t),
                       ALIGNMENT);
    for (int f = 0; f < SHMEMI_ARCHIVE_FAMILIES; f++) {
        p->pool[f] = at;
        at += teams * sizeof(uint64_t);
        p->teams[f] = at;
        at += teams * p->team;
    }
    p->size = at;
}

/* Returns NVSHMEM's number for how the PEs are distributed over the nodes: 1 node by node (also on
 * a single node), 0 round robin, 2 in another way. */
static int32_t distribution(void)
{
    const struct shmemi_state *s = &shmemi_state;
    bool node_by_node = true, round_robin = true;
    for (uint32_t pe = 1; pe < s->n_pes; pe++) {
        node_by_node &= s->node_of[pe] >= s->node_of[pe - 1];
        round_robin &= s->node_of[pe] == (int32_t)(pe % s->n_nodes);
    }
    return node_by_node ? 1 : round_robin ? 0 : 2;
}

/* Fills in the state of a release. block: the address of the memory for kernels. channel: see
 * archive_state.h. */
void shmemi_archive_fill(struct shmemi_archive_state *out, const struct shmemi_archive_release *r,
                         const struct shmemi_archive_places *p, uint64_t block,
                         const struct shmemi_channel *channel)
{
    const struct shmemi_state *s = &shmemi_state;
    const struct shmemi_device_image *image = shmemi_units_image();
    const uint64_t ends = s->core->kernel_exit(), words = block + p->words;
    const uint64_t none =
        UINT64_MAX; /* what NVIDIA's library leaves in sizes that it does not set */
    const bool by_channel = channel != NULL;
    const struct shmemi_channel c = by_channel ? *channel : (struct shmemi_channel){0};
    *out = (struct shmemi_archive_state){
        .version = VERSION(1, r->state),
        .mype = s->my_pe,
        .npes = (int32_t)s->n_pes,
        .node_mype = (int32_t)s->node_rank,
        .node_npes = (int32_t)s->node_pes,
        /* Node by node, broadcasts would use teams for the part of a team on each node (below). */
        .pe_dist = by_channel ? 2 : distribution(),
        /* 2: the proxy serves the channel; 1: it only ends jobs. */
        .proxy = by_channel ? 2 : 1,
        /* 8: PEs are reached by the channel, which orders what other PEs write here before the
         * signals that follow it; 1: loads, stores and atomics reach all PEs. */
        .job_connectivity = by_channel ? 8 : 1,
        /* If true, a fence in a kernel submits nothing. A ring keeps only what a fence orders. */
        .proxy_ops_are_ordered = !by_channel,
        .atomics_complete_on_quiet = false,
        .atomics_sync = 0,
        .heap_base = image->job.heap,
        .heap_size = image->job.heap_size,
        .peer_heap_base_p2p = block + p->direct,
        .peer_heap_base_remote = block + p->remote,
        .symmetric_heap_kind = 0, /* memory of the GPU */
        .enable_rail_opt = false,
        .atomics_le_min_size = 0,
        .timeout = words + offsetof(struct shmemi_archive_words, timeout),
        .test_wait_any_start_idx_ptr = words + offsetof(struct shmemi_archive_words, any_start),
        .team_pool = block + p->pool[r->family],
        .psync_pool = block + p->psync[r->family],
        .sync_counter = block + p->sync[r->family],
        .gpu_coll_env_params_var =
            {
                .version = VERSION(2, sizeof(struct shmemi_archive_coll)),
                .barrier_dissem_kval = UNUSED,
                .barrier_tg_dissem_kval = 2,
                .reduce_recexch_kval = 2,
                .bcast_tree_kval = 2,
                .bcast_algo = 0,
                .reduce_algo = 1,
                .fcollect_ll_threshold = SHMEMI_ARCHIVE_LL,
                .fcollect_nvls_threshold = 1 << 24,
                .reduce_scratch_size = SHMEMI_ARCHIVE_SCRATCH,
                .fcollect_algo = 0,
                .reducescatter_nvls_threshold = 1 << 24,
                .reducescatter_algo = 0,
                .reduce_maxloc_algo = 1,
                .fcollect_ll128_threshold = 0,
                .reduce_nvls_threshold = 2048,
                .fcollect_ll_supported = r->minor >= 8,
            },
        .proxy_channels_buf = c.requests,
        .proxy_channel_g_buf = c.elements,
        .proxy_channel_g_coalescing_buf = c.coalesced,
        .proxy_channel_g_buf_head_ptr = c.head,
        .proxy_channel_g_buf_size = by_channel ? (uint64_t)1 << SHMEMI_CHANNEL_ELEMENTS_LOG2 : none,
        .proxy_channel_g_buf_log_size = by_channel ? SHMEMI_CHANNEL_ELEMENTS_LOG2 : none,
        .proxy_channels_issue = c.issue,
        .proxy_channels_complete = c.complete,
        .proxy_channels_complete_local_ptr = c.complete_seen,
        .proxy_channels_quiet_issue = c.quiet_issue,
        .proxy_channels_quiet_ack = c.quiet_ack,
        .proxy_channels_cst_issue = c.cst_issue,
        .proxy_channels_cst_ack = c.cst_ack,
        .proxy_channel_buf_size = by_channel ? (uint64_t)1 << SHMEMI_CHANNEL_LOG2 : none,
        .proxy_channel_buf_logsize = by_channel ? SHMEMI_CHANNEL_LOG2 : UINT32_MAX,
        .global_exit_request_state = ends,
        .global_exit_code = ends + sizeof(int32_t),
        .ibgda_is_initialized = false,
        .nvshmemi_is_nvshmem_initialized = true,
        .nvshmemi_is_nvshmem_bootstrapped = true,
        .selected_device_transport = 0,
        .tma_policy = 0,
        .tma_smem_bases = 0,
        .tma_smem_bases_len = 0,
        .tma_smem_size = 0,
        .unicast_le_ids = 0,
        .counted_operations_available = false,
        /* Without slots a batch region cannot begin. With some, device code would write 16 MiB
         * behind the requests of the channel, where its results are. */
        .region_slots = 0,
        .region_active_count = words + offsetof(struct shmemi_archive_words, regions),
        .region_slots_len = 0,
        .region_slot_probe_limit = 0,
    };
}

/*
 * Fills in the steps of a reduction by recursive exchange, in pairs, for the PE with rank me of n.
 * lists: the address of l for kernels. The PEs beyond the largest power of 2 take part through a
 * neighbour: of the first 2 * extra PEs the even ones pass their elements to the odd ones before
 * the steps, and get the result after them.
 */
static void fill_steps(struct shmemi_archive_recexch *r, struct lists *l, uint64_t lists, int me,
                       int n)
{
    int phases = 0;
    while (2 << phases <= n)
        phases++;
    int extra = n - (1 << phases);
    bool passes = me < 2 * extra && me % 2 == 0;
    int rank = me < 2 * extra ? me / 2 : me - extra; /* among those that exchange */
    *r = (struct shmemi_archive_recexch){
        .version = VERSION(1, sizeof *r),
        .step1_sendto = passes ? me + 1 : -1,
        .step1_recvfrom = lists + offsetof(struct lists, from),
        .step2_nbrs = lists + offsetof(struct lists, phases),
        .step1_nrecvs = !passes && me < 2 * extra,
        .step2_nphases = phases, /* equal on all PEs, for they choose by it */
    };
    l->from[0] = me - 1;
    for (int i = 0; !passes && i < phases; i++) {
        int partner = rank ^ 1 << i;
        l->phases[i] = lists + offsetof(struct lists, neighbours) + (size_t)i * sizeof(int32_t);
        l->neighbours[i] = partner < extra ? 2 * partner + 1 : partner + extra;
    }
}

/* Reports whether all members of a team are on this PE's node. */
static bool on_node(const struct shmemi_team *t)
{
    return t->n_nodes == 1;
}

/* Fills in a team, and the lists that follow it. at: the address at which kernels find all of it.
 * direct: see archive_state.h. */
void shmemi_archive_fill_team(void *out, enum shmemi_archive_family family,
                              const struct shmemi_archive_places *p, const struct shmemi_team *t,
                              int handle, uint64_t at, bool direct)
{
    const struct shmemi_state *s = &shmemi_state;
    struct shmemi_archive_team *team = out;
    struct lists *l = (struct lists *)(team + 1);
    const uint64_t lists = at + sizeof *team;
    /* NVIDIA's library does not mark these two teams as teams of one node, not even if all of their
     * PEs are on one. */
    bool across_nodes = handle == SHMEMX_TEAM_SAME_MYPE_NODE || handle == SHMEMX_TEAM_GPU_LEADERS;
    bool world = handle == SHMEM_TEAM_WORLD;
    memset(out, 0, p->team);
    *team = (struct shmemi_archive_team){
        .version = family == SHMEMI_ARCHIVE_3_3 ? VERSION(2, SHMEMI_ARCHIVE_TEAM_3_4)
                                                : VERSION(4, SHMEMI_ARCHIVE_TEAM_3_8),
        .my_pe = t->me,
        .start = t->start,
        .stride = t->stride,
        .size = t->n,
        .team_idx = handle,
        .config_version = VERSION(2, 64),
        .num_contexts = UNUSED,
        .uniqueid = UINT64_MAX,
        .config_mask = 0,
        .nccl_comm = 0,
        .rdxn_count = 0,
        .ll_flag = 1,
        .alltoall_pwrk = {0, 0},
        .alltoall_count = 0,
        .bcast_count = 0,
        .bcast_sync_offset = 0,
        .fcollect_count = 0,
        .fcollect_ll_flag = UINT32_MAX,
        .are_gpus_p2p_connected = direct,
        .is_team_node = on_node(t) && !across_nodes,
        .team_node = world ? SHMEMX_TEAM_NODE : -1,
        .is_team_same_mype_node = handle == SHMEMX_TEAM_SAME_MYPE_NODE,
        .team_same_mype_node = world ? SHMEMX_TEAM_SAME_MYPE_NODE : -1,
        .nvls_rsc = 0,
        .nvls_rsc_base_ptr = 0,
        .team_dups = {handle},
        .pe_mapping = lists + offsetof(struct lists, mapping),
        .p2p_sync_on_stream_count = 0,
        .are_gpus_nvls_connected = false,
        .mc_leid_with_flag = 0,
    };
    if (handle == SHMEMX_TEAM_SAME_MYPE_NODE && t->n == 1)
        team->stride = (int32_t)s->node_pes;
    for (size_t i = 1; i < sizeof team->team_dups / sizeof *team->team_dups; i++)
        team->team_dups[i] = -1;
    fill_steps(&team->reduce_recexch, l, lists, t->me, t->n);
    memcpy(l->mapping, t->pes, (size_t)t->n * sizeof(int32_t));
    for (int pe = 0; pe < (int)s->n_pes; pe++)
        l->mapping[t->n + pe] = shmemi_team_rank(t, pe);
}
