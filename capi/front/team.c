/*
 * team.c: teams and their slots.
 *
 * A new team needs the same slot at all of its PEs, so the PEs of the parent agree
 * on one by and-ing who has which free. Teams of one split have no PE in common
 * and share a slot. Before the first message all members have cleared the slot's
 * words; after the last one nothing is under way, since each message is awaited by
 * the call that it belongs to.
 */
#include "team.h"

#include "agree.h"
#include "below.h"
#include "colls.h"
#include "context_make.h"
#include "error.h"
#include "failure.h"
#include "gpu.h"
#include "set.h"
#include "slots.h"
#include "teams.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct shmemi_team shmemi_world;

/* The slots of this PE. */
enum { FIRST_SLOT = SHMEMI_FIRST_SLOT, MOST_SLOTS = SHMEMI_MOST_SLOTS };
static struct shmemi_team *teams[MOST_SLOTS];
static uint32_t generations[MOST_SLOTS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---------------------------------------------------------------- membership */

static int32_t *numbers(size_t n)
{
    return malloc((n ? n : 1) * sizeof(int32_t));
}

/* start, stride: of those that follow a rule. */
static void find_rule(struct shmemi_team *t)
{
    t->start = t->pes[0];
    t->stride = t->n > 1 ? t->pes[1] - t->pes[0] : 1;
    for (int i = 1; i < t->n; i++)
        if (t->pes[i] - t->pes[i - 1] != t->stride)
            t->stride = 0;
}

int shmemi_team_place(struct shmemi_team *t)
{
    const struct shmemi_state *s = &shmemi_state;
    size_t n = (size_t)t->n;
    t->near = numbers(n);
    t->leaders = numbers(s->n_nodes < n ? s->n_nodes : n);
    bool *seen = calloc(s->n_nodes, sizeof *seen);
    if (t->near == NULL || t->leaders == NULL || seen == NULL) {
        free(seen);
        return -1;
    }
    find_rule(t);
    t->me = -1;
    for (int rank = 0; rank < t->n; rank++) {
        int32_t pe = t->pes[rank];
        uint32_t node = (uint32_t)s->node_of[pe];
        if (pe == s->my_pe) {
            t->me = rank;
            t->near_rank = t->n_near;
        }
        if (node == s->node)
            t->near[t->n_near++] = rank;
        if (seen[node])
            continue;
        seen[node] = true;
        if (node == s->node)
            t->node = t->n_nodes;
        t->leaders[t->n_nodes++] = rank;
    }
    free(seen);
    return 0;
}

void shmemi_team_free(struct shmemi_team *t)
{
    free(t->pes);
    free(t->near);
    free(t->leaders);
    free(t->sent);
    free(t->seen);
    free(t->agreeing);
    *t = (struct shmemi_team){0};
}

int shmemi_team_rank(const struct shmemi_team *t, int pe)
{
    if (t->stride != 0) {
        int64_t distance = (int64_t)pe - t->start;
        int64_t rank = distance / t->stride;
        return rank >= 0 && rank < t->n && rank * t->stride == distance ? (int)rank : -1;
    }
    for (int rank = 0; rank < t->n; rank++)
        if (t->pes[rank] == pe)
            return rank;
    return -1;
}

/* -------------------------------------------------------------------- slots */

/* Where agreements are is the end of the area of a slot. 0, or -1: no memory. */
static int place_agreements(struct shmemi_team *t, uint32_t slot)
{
    const struct shmemi_state *s = &shmemi_state;
    free(t->agreeing);
    t->agreeing = malloc(4 * shmemi_common_size(t) + (size_t)t->n);
    t->agreed = 0;
    t->agreements = (int64_t)(s->team_size * (slot + 1) - s->agree_size) - (int64_t)s->teams_offset;
    memset(s->peer_base[s->my_pe] + t->agreements, 0, s->agree_size);
    return t->agreeing == NULL ? -1 : 0;
}

int shmemi_slot_occupy(struct shmemi_team *t, int slot, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    shmemi_kernels_renew(slot, call);
    size_t words = (s->n_pes * sizeof(uint64_t) + SHMEMI_CACHE_LINE - 1) / SHMEMI_CACHE_LINE *
                   SHMEMI_CACHE_LINE;
    t->slot = slot;
    t->inbox = (int64_t)(s->team_size * (size_t)slot) - (int64_t)s->teams_offset;
    t->scratch = s->peer_base[s->my_pe] + t->inbox + words;
    t->round_size = (s->team_size - s->agree_size - words) / 2;
    t->slot_size = SHMEMI_TEAM_SLOT;
    free(t->sent);
    free(t->seen);
    t->sent = calloc((size_t)t->n, sizeof *t->sent);
    t->seen = calloc((size_t)t->n, sizeof *t->seen);
    memset(s->peer_base[s->my_pe] + t->inbox, 0, words);
    int rc = place_agreements(t, (uint32_t)slot);
    return t->sent == NULL || t->seen == NULL ? -1 : rc;
}

int shmemi_teams_open(void)
{
    const struct shmemi_state *s = &shmemi_state;
    struct shmemi_team *w = &shmemi_world;
    shmemi_world = (struct shmemi_team){.n = (int32_t)s->n_pes, .slot = -1};
    w->pes = numbers(s->n_pes);
    w->sent = calloc(s->n_pes, sizeof *w->sent);
    w->seen = calloc(s->n_pes, sizeof *w->seen);
    for (int32_t pe = 0; w->pes != NULL && pe < w->n; pe++)
        w->pes[pe] = pe;
    if (w->pes == NULL || w->sent == NULL || w->seen == NULL || shmemi_team_place(w) != 0 ||
        shmemi_always_open() != 0 || place_agreements(w, s->max_teams) != 0) {
        shmemi_teams_close();
        return -1;
    }
    w->inbox = -(int64_t)s->inbox_offset;
    w->scratch = s->scratch;
    w->round_size = s->scratch_size / 2;
    w->slot_size = SHMEMI_SLOT;
    w->direct = s->n_pes <= SHMEMI_DIRECT_PES;
    return 0;
}

void shmemi_teams_close(void)
{
    shmemi_sets_close();
    for (int slot = FIRST_SLOT; slot < MOST_SLOTS; slot++) {
        if (teams[slot] == NULL)
            continue;
        shmemi_team_drop(teams[slot]);
        teams[slot] = NULL;
    }
    shmemi_always_close();
    shmemi_team_free(&shmemi_world);
}

bool shmemi_teams_made(void)
{
    for (int slot = FIRST_SLOT; slot < MOST_SLOTS; slot++)
        if (teams[slot] != NULL)
            return true;
    return false;
}

/* ------------------------------------------------------------------- handles */

static shmem_team_t handle_of(int slot)
{
    return (shmem_team_t)((generations[slot] << SHMEMI_TEAM_BITS | (uint32_t)slot) & INT32_MAX);
}

/* A handle that no earlier team of the slot has had, nor one that is always there. */
shmem_team_t shmemi_slot_name(const struct shmemi_team *t, const char *call)
{
    do
        generations[t->slot]++;
    while (handle_of(t->slot) == t->slot);
    shmemi_kernels_show(t, handle_of(t->slot), call);
    return handle_of(t->slot);
}

struct shmemi_team *shmemi_team_of(shmem_team_t team, const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.n_pes == 0))
        shmemi_refuse_uninitialised(call);
    if (SHMEMI_LIKELY(team == SHMEM_TEAM_WORLD))
        return &shmemi_world;
    if (team == SHMEM_TEAM_INVALID)
        return NULL;
    if (team > 0 && team < FIRST_SLOT)
        return shmemi_team_always(team);
    int slot = team & (MOST_SLOTS - 1);
    if (team < 0 || slot < FIRST_SLOT || teams[slot] == NULL || handle_of(slot) != team)
        shmemi_team_refuse(
            team, team >= 0 && generations[slot] >= (uint32_t)team >> SHMEMI_TEAM_BITS, call);
    return teams[slot];
}

/* --------------------------------------------------------------------- splits */

/* One new team, as this PE sees it: the parent's ranks that are in it. */
struct plan {
    int start, stride, size;
    int num_contexts;
    bool member;
};

/* What the PEs of the parent agree on. */
struct vote {
    uint64_t free[MOST_SLOTS / 64];
    int64_t ok; /* flags that all have */
    /* The smallest of the arguments that have to be the same, and of their negatives. */
    int64_t least[3], most[3];
};
_Static_assert(sizeof(struct vote) <= SHMEMI_TEAM_SLOT, "a vote fits a slot");

static void combine_votes(void *acc, const void *in, size_t n)
{
    struct vote *a = acc;
    const struct vote *b = in;
    for (; n > 0; n--, a++, b++) {
        for (size_t i = 0; i < sizeof a->free / sizeof *a->free; i++)
            a->free[i] &= b->free[i];
        a->ok &= b->ok;
        for (int i = 0; i < 3; i++) {
            a->least[i] = b->least[i] < a->least[i] ? b->least[i] : a->least[i];
            a->most[i] = b->most[i] < a->most[i] ? b->most[i] : a->most[i];
        }
    }
}

void shmemi_slots_free(uint64_t *out)
{
    memset(out, 0, MOST_SLOTS / 8);
    for (uint32_t slot = FIRST_SLOT; slot < shmemi_state.max_teams; slot++)
        if (teams[slot] == NULL)
            out[slot / 64] |= (uint64_t)1 << slot % 64;
}

int shmemi_slots_lowest(const uint64_t *bits, int from)
{
    for (int i = from; i < MOST_SLOTS; i++)
        if (bits[i / 64] >> i % 64 & 1)
            return i;
    return -1;
}

struct shmemi_team *shmemi_team_new(int32_t *pes, int n, int num_contexts)
{
    struct shmemi_team *t = calloc(1, sizeof *t);
    if (t == NULL) {
        free(pes);
        return NULL;
    }
    *t = (struct shmemi_team){.n = n, .pes = pes, .num_contexts = num_contexts};
    if (shmemi_team_place(t) == 0)
        return t;
    shmemi_team_drop(t);
    return NULL;
}

void shmemi_team_drop(struct shmemi_team *t)
{
    if (t != NULL)
        shmemi_team_free(t);
    free(t);
}

static struct shmemi_team *build(const struct shmemi_team *parent, const struct plan *p)
{
    int32_t *pes = numbers((size_t)p->size);
    for (int i = 0; pes != NULL && i < p->size; i++)
        pes[i] = parent->pes[p->start + p->stride * i];
    return pes == NULL ? NULL : shmemi_team_new(pes, p->size, p->num_contexts);
}

bool shmemi_slots_claim(struct shmemi_team **made, const int *slots, int n)
{
    bool free = true;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < n; i++)
        free &= made[i] == NULL || teams[slots[i]] == NULL;
    for (int i = 0; free && i < n; i++)
        if (made[i] != NULL)
            teams[slots[i]] = made[i];
    pthread_mutex_unlock(&mutex);
    return free;
}

void shmemi_slots_disclaim(struct shmemi_team **made, const int *slots, int n)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < n; i++)
        if (made[i] != NULL && slots[i] >= 0 && teams[slots[i]] == made[i])
            teams[slots[i]] = NULL;
    pthread_mutex_unlock(&mutex);
}

static void check_same(const struct vote *all, const char *call)
{
    for (int i = 0; i < 3; i++)
        if (all->least[i] != -all->most[i])
            shmemi_abort(
                call, "pass the same on every PE of the parent team",
                "number %d of what describes the teams is %lld on a PE and %lld on another", i + 1,
                (long long)all->least[i], (long long)-all->most[i]);
}

enum { MEMORY = 1, CLAIMED = 2, GOOD = MEMORY | CLAIMED };

/*
 * Agrees on slots for the teams in made and takes them: GOOD; without CLAIMED: try
 * again; without MEMORY: give up. The same on every PE. Nothing is locked while PEs
 * are waited for, so that threads may split several teams at once.
 */
static int64_t settle(struct shmemi_team *parent, struct shmemi_team **made, int n, int64_t state,
                      const int *args, int *slots, const char *call)
{
    static const struct shmemi_reducer votes = {combine_votes, sizeof(struct vote)};
    struct vote mine = {.ok = state}, all;
    for (int i = 0; i < 3; i++) {
        mine.least[i] = args[i];
        mine.most[i] = -(int64_t)args[i];
    }
    shmemi_slots_free(mine.free);
    shmemi_exchange(parent, &all, &mine, 1, &votes, call);
    if (!shmemi_collective_holds())
        return 0;
    check_same(&all, call);
    for (int i = 0; i < n; i++)
        slots[i] = shmemi_slots_lowest(all.free, i == 0 ? FIRST_SLOT : slots[0] + 1);
    if (!(all.ok & MEMORY) || slots[0] < 0 || slots[n - 1] < 0)
        return 0;
    if (!shmemi_slots_claim(made, slots, n))
        mine.ok &= ~(int64_t)CLAIMED;
    for (int i = 0; (mine.ok & CLAIMED) && i < n; i++)
        if (made[i] != NULL && shmemi_slot_occupy(made[i], slots[i], call) != 0)
            mine.ok &= ~(int64_t)MEMORY;
    /* Also the barrier between clearing the words and the first message. */
    shmemi_exchange(parent, &all, &mine, 1, &votes, call);
    if (!shmemi_collective_holds())
        all.ok = 0;
    if (all.ok != GOOD && (mine.ok & CLAIMED))
        shmemi_slots_disclaim(made, slots, n);
    return all.ok;
}

/* Makes up to two teams of a parent, which all of its PEs do together. args: what
 * has to be the same on all. 0 on every PE, or -1 on every PE. */
static int split(struct shmemi_team *parent, const struct plan *plans, int n, const int *args,
                 shmem_team_t **handles, const char *call)
{
    struct shmemi_team *made[2] = {NULL, NULL};
    int slots[2] = {-1, -1};
    int64_t state = GOOD, rc;
    if (!shmemi_collective_begin(parent, call))
        return -1;
    shmemi_coll_same(parent, NULL, NULL, 0, "", 0, call);
    for (int i = 0; i < n; i++) {
        made[i] = plans[i].member ? build(parent, &plans[i]) : NULL;
        if (plans[i].member && made[i] == NULL)
            state = CLAIMED;
    }
    do
        rc = settle(parent, made, n, state, args, slots, call);
    while (rc == MEMORY);
    shmemi_collective_end();
    for (int i = 0; i < n; i++) {
        if (made[i] == NULL)
            continue;
        if (rc == GOOD)
            *handles[i] = shmemi_slot_name(made[i], call);
        else
            shmemi_team_drop(made[i]);
    }
    return rc == GOOD ? 0 : -1;
}

/* What a program asks a new team for. */
static int contexts_of(const shmem_team_config_t *config, long mask, const char *call)
{
    if (mask & ~(long)SHMEM_TEAM_NUM_CONTEXTS)
        shmemi_abort(call, "use SHMEM_TEAM_NUM_CONTEXTS or 0",
                     "the mask %#lx has bits that mean nothing", (unsigned long)mask);
    if (!(mask & SHMEM_TEAM_NUM_CONTEXTS))
        return 0;
    if (config == NULL)
        shmemi_abort(call, "pass a configuration, or a mask of 0", "config is NULL");
    if (config->num_contexts < 0)
        shmemi_abort(call, "use 0 or more", "num_contexts is %d", config->num_contexts);
    return config->num_contexts;
}

static void need(const void *p, const char *what, const char *call)
{
    if (p == NULL)
        shmemi_abort(call, "pass where the answer goes", "%s is NULL", what);
}

/* each: every PE passes the numbers of its own team, and one whose numbers are not usable
 * takes part all the same. */
static int split_strided(shmem_team_t parent_team, struct plan p, bool each, shmem_team_t *new_team,
                         const char *call)
{
    struct shmemi_team *parent = shmemi_team_of(parent_team, call);
    need(new_team, "new_team", call);
    *new_team = SHMEM_TEAM_INVALID;
    if (parent == NULL)
        return -1;
    int64_t last = (int64_t)p.start + (int64_t)p.stride * ((int64_t)p.size - 1);
    bool valid = p.size >= 1 && p.start >= 0 && p.start < parent->n && last >= 0 &&
                 last < parent->n && (p.stride != 0 || p.size == 1);
    if (!valid && !each)
        return -1;
    int64_t distance = (int64_t)parent->me - p.start;
    p.member = valid && (p.stride == 0 ? distance == 0
                                       : distance % p.stride == 0 && distance / p.stride >= 0 &&
                                             distance / p.stride < p.size);
    const int args[3] = {each ? 0 : p.start, each ? 0 : p.stride, each ? 0 : p.size};
    int rc = split(parent, &p, 1, args, &new_team, call);
    return valid ? rc : -1;
}

int shmemi_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                              const shmem_team_config_t *config, long config_mask,
                              shmem_team_t *new_team, const char *call)
{
    struct plan p = {start, stride, size, contexts_of(config, config_mask, call), false};
    return split_strided(parent_team, p, false, new_team, call);
}

int shmemi_team_split_each(shmem_team_t parent_team, int start, int stride, int size,
                           const shmem_team_config_t *config, long config_mask,
                           shmem_team_t *new_team)
{
    struct plan p = {start, stride, size, contexts_of(config, config_mask, __func__), false};
    return split_strided(parent_team, p, true, new_team, "nvshmem_team_split_strided");
}

int shmemi_team_split_2d(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xconfig,
                         long xmask, shmem_team_t *xteam, const shmem_team_config_t *yconfig,
                         long ymask, shmem_team_t *yteam, const char *call)
{
    struct shmemi_team *parent = shmemi_team_of(parent_team, call);
    need(xteam, "xaxis_team", call);
    need(yteam, "yaxis_team", call);
    *xteam = *yteam = SHMEM_TEAM_INVALID;
    if (parent == NULL || xrange < 1)
        return -1;
    int n = parent->n, width = xrange < n ? xrange : n;
    int x = parent->me % width, row = parent->me - x;
    const struct plan plans[2] = {
        {row, 1, n - row < width ? n - row : width, contexts_of(xconfig, xmask, call), true},
        {x, width, (n - x + width - 1) / width, contexts_of(yconfig, ymask, call), true},
    };
    const int args[3] = {xrange, 0, 0};
    shmem_team_t *handles[2] = {xteam, yteam};
    return split(parent, plans, 2, args, handles, call);
}

void shmemi_team_destroy(shmem_team_t team, const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL)
        return;
    if (t == &shmemi_world || t == shmemi_team_always(team))
        shmemi_abort(call, "destroy what a split has made", "team %d is always there", (int)team);
    bool met = false;
    shmemi_ctx_end_team(team, call);
    /* Without its lost PEs a team is given back all the same. */
    if (shmemi_collective_begin(t, call)) {
        shmemi_team_meet(t, call);
        met = shmemi_collective_end();
    }
    if (!met)
        shmemi_team_settle(t, call); /* what was not awaited */
    shmemi_kernels_hide(t, call);
    pthread_mutex_lock(&mutex);
    teams[t->slot] = NULL;
    pthread_mutex_unlock(&mutex);
    shmemi_team_drop(t);
}
