/*
 * team_split.c: teams that are split from others.
 *
 * A new team needs the same slot at all of its PEs, so the PEs of the parent agree on one: they
 * combine their sets of free slots by a bitwise and. With the slot goes a place in the memory for
 * rounds, if the team is on several nodes. Teams of one split have no PE in common and
 * share a slot. Before the first message all members have cleared the slot's words; after the last
 * one no message is under way, since each message is awaited by the call to which it belongs.
 */
#include "team_split.h"

#include "agree.h"
#include "barrier.h"
#include "below.h"
#include "context_make.h"
#include "error.h"
#include "exchange.h"
#include "failure.h"
#include "gpu.h"
#include "collective_arguments.h"
#include "team_ids.h"
#include "team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* One new team, as this PE sees it, by ranks of the parent. */
struct plan {
    int start, stride, size;
    int num_contexts; /* as the program has configured */
    bool member;      /* this PE is in the team */
};

/* What each PE of the parent contributes to the agreement on a slot, and its result. */
struct vote {
    uint64_t free[SHMEMI_TEAM_SLOTS / 64]; /* a bit for each slot: it is free */
    int64_t flags;                         /* MEMORY and CLAIMED: those that all PEs have set */
    /* The minimum of each argument that has to be equal, and of its negative. */
    int64_t least[3], minus_most[3];
};
_Static_assert(sizeof(struct vote) <= SHMEMI_TEAM_SLOT, "a vote fits a slot");

/* An argument of the call, by its name in the header. */
struct argument {
    const char *name;
    int value;
};

/* Combines the votes of two PEs for shmemi_exchange: the slots that both have free, the flags that
 * both have set, and of each argument the minimum and the minimum of its negative. */
static void combine_votes(void *acc, const void *in, size_t n)
{
    struct vote *a = acc;
    const struct vote *b = in;
    for (; n > 0; n--, a++, b++) {
        for (size_t i = 0; i < sizeof a->free / sizeof *a->free; i++)
            a->free[i] &= b->free[i];
        a->flags &= b->flags;
        for (int i = 0; i < 3; i++) {
            a->least[i] = b->least[i] < a->least[i] ? b->least[i] : a->least[i];
            a->minus_most[i] =
                b->minus_most[i] < a->minus_most[i] ? b->minus_most[i] : a->minus_most[i];
        }
    }
}

/* Makes a team by its plan; NULL if there is no memory. */
static struct shmemi_team *make_from_plan(const struct shmemi_team *parent, const struct plan *p)
{
    int32_t *pes = shmemi_team_numbers((size_t)p->size);
    for (int i = 0; pes != NULL && i < p->size; i++)
        pes[i] = parent->pes[p->start + p->stride * i];
    return pes == NULL ? NULL : shmemi_team_new(pes, p->size, p->num_contexts);
}

/* Ends the job if the PEs of the parent have passed different arguments. */
static void check_equal_arguments(const struct vote *all, const struct argument *args,
                                  const char *call)
{
    char remedy[96];
    for (int i = 0; i < 3; i++) {
        if (all->least[i] == -all->minus_most[i])
            continue;
        snprintf(remedy, sizeof remedy, "pass the same %s on every PE of the parent team",
                 args[i].name);
        shmemi_abort(call, remedy, "%s is %lld on one PE and %lld on another", args[i].name,
                     (long long)all->least[i], (long long)-all->minus_most[i]);
    }
}

/* The flags of a vote: this PE had memory for its teams, and has claimed their slots. */
enum { MEMORY = 1, CLAIMED = 2, GOOD = MEMORY | CLAIMED };

/*
 * Agrees on slots for the teams in made, and enters the teams there. flags: this PE's vote. Returns
 * the flags that all PEs have set: GOOD; without CLAIMED: another thread of a PE has occupied a
 * slot, so that the caller tries again; without MEMORY: no team can be made. The result is the same
 * on every PE. No lock is locked while PEs wait for each other, so that threads may split several
 * teams at once.
 */
static int64_t agree_on_slots(struct shmemi_team *parent, struct shmemi_team **made, int n,
                              int64_t flags, const struct argument *args,
                              struct shmemi_team_id *ids, const char *call)
{
    static const struct shmemi_reducer votes = {combine_votes, sizeof(struct vote)};
    struct vote mine = {.flags = flags}, all;
    for (int i = 0; i < 3; i++) {
        mine.least[i] = args[i].value;
        mine.minus_most[i] = -(int64_t)args[i].value;
    }
    shmemi_team_ids_free(mine.free);
    shmemi_exchange(parent, &all, &mine, 1, &votes, call);
    if (!shmemi_collective_unbroken())
        return 0;
    check_equal_arguments(&all, args, call);
    for (int i = 0; i < n; i++)
        ids[i] = shmemi_team_ids_choose(all.free, i);
    if (!(all.flags & MEMORY) || ids[n - 1].slot < 0)
        return 0;
    if (!shmemi_team_ids_claim(made, ids, n))
        mine.flags &= ~(int64_t)CLAIMED;
    for (int i = 0; (mine.flags & CLAIMED) && i < n; i++)
        if (made[i] != NULL && shmemi_team_id_occupy(made[i], ids[i].slot, call) != 0)
            mine.flags &= ~(int64_t)MEMORY;
    /* This is also the barrier between clearing the words and the first message. */
    shmemi_exchange(parent, &all, &mine, 1, &votes, call);
    if (!shmemi_collective_unbroken())
        all.flags = 0;
    if (all.flags != GOOD && (mine.flags & CLAIMED))
        shmemi_team_ids_disclaim(made, ids, n);
    return all.flags;
}

/* Makes n teams (up to two) of a parent; all PEs of the parent call it together. args: three
 * arguments that have to be equal on all PEs. handles[i]: where the handle of team i goes, if this
 * PE is in it. Returns 0 on every PE, or -1 on every PE. */
static int split_team(struct shmemi_team *parent, const struct plan *plans, int n,
                      const struct argument *args, shmem_team_t **handles, const char *call)
{
    struct shmemi_team *made[2] = {NULL, NULL};
    struct shmemi_team_id ids[2] = {{-1, -1}, {-1, -1}};
    int64_t flags = GOOD, result;
    if (!shmemi_collective_begin(parent, call))
        return -1;
    /* Compares the names of the calls alone; the arguments are compared with the votes. */
    shmemi_coll_check_arguments(parent, NULL, NULL, 0, "", 0, call);
    for (int i = 0; i < n; i++) {
        made[i] = plans[i].member ? make_from_plan(parent, &plans[i]) : NULL;
        if (plans[i].member && made[i] == NULL)
            flags = CLAIMED; /* and not MEMORY */
    }
    do
        result = agree_on_slots(parent, made, n, flags, args, ids, call);
    while (result == MEMORY);
    shmemi_collective_end();
    for (int i = 0; i < n; i++) {
        if (made[i] == NULL)
            continue;
        if (result == GOOD)
            *handles[i] = shmemi_team_id_name(made[i], call);
        else
            shmemi_team_drop(made[i]);
    }
    return result == GOOD ? 0 : -1;
}

/* Returns the number of contexts that a program's configuration of a team asks for; 0 if the mask
 * does not have that field. Ends the job if mask or number are invalid. */
static int contexts_of(const shmem_team_config_t *config, long mask, const char *call)
{
    if (mask & ~(long)SHMEM_TEAM_NUM_CONTEXTS)
        shmemi_abort(call, "use SHMEM_TEAM_NUM_CONTEXTS or 0", "the mask %#lx has unknown bits",
                     (unsigned long)mask);
    if (!(mask & SHMEM_TEAM_NUM_CONTEXTS))
        return 0;
    if (config == NULL)
        shmemi_abort(call, "pass a configuration, or a mask of 0", "config is NULL");
    if (config->num_contexts < 0)
        shmemi_abort(call, "use 0 or more", "num_contexts is %d", config->num_contexts);
    return config->num_contexts;
}

/* Ends the job if an address that the program has to pass is NULL. */
static void check_not_null(const void *p, const char *what, const char *call)
{
    if (p == NULL)
        shmemi_abort(call, "pass the address of a shmem_team_t", "%s is NULL", what);
}

/* Serves shmem_team_split_strided and, if `each` is set, shmemi_team_split_each, in which every PE
 * passes start, stride and size of its own team. With each, a PE whose arguments are invalid still
 * takes part in the collective call; otherwise all PEs pass the same, and return at once. Returns
 * 0, or non-zero with *new_team invalid. */
static int split_strided(shmem_team_t parent_team, struct plan p, bool each, shmem_team_t *new_team,
                         const char *call)
{
    struct shmemi_team *parent = shmemi_team_of(parent_team, call);
    check_not_null(new_team, "new_team", call);
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
    const struct argument args[3] = {{"start", each ? 0 : p.start},
                                     {"stride", each ? 0 : p.stride},
                                     {"size", each ? 0 : p.size}};
    int rc = split_team(parent, &p, 1, args, &new_team, call);
    return valid ? rc : -1;
}

/* Implements shmem_team_split_strided. Returns 0, or -1. */
int shmemi_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                              const shmem_team_config_t *config, long config_mask,
                              shmem_team_t *new_team, const char *call)
{
    struct plan p = {start, stride, size, contexts_of(config, config_mask, call), false};
    return split_strided(parent_team, p, /* each */ false, new_team, call);
}

/* Splits a team by each PE's own start, stride and size, for nvshmem_team_split_strided. Returns
 * what split_strided returns. */
int shmemi_team_split_each(shmem_team_t parent_team, int start, int stride, int size,
                           const shmem_team_config_t *config, long config_mask,
                           shmem_team_t *new_team)
{
    static const char call[] = "nvshmem_team_split_strided";
    struct plan p = {start, stride, size, contexts_of(config, config_mask, call), false};
    return split_strided(parent_team, p, /* each */ true, new_team, call);
}

/* Implements shmem_team_split_2d: this PE's row and column of the parent, xrange PEs wide, are two
 * teams of one split. */
int shmemi_team_split_2d(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xconfig,
                         long xmask, shmem_team_t *xteam, const shmem_team_config_t *yconfig,
                         long ymask, shmem_team_t *yteam, const char *call)
{
    struct shmemi_team *parent = shmemi_team_of(parent_team, call);
    check_not_null(xteam, "xaxis_team", call);
    check_not_null(yteam, "yaxis_team", call);
    *xteam = *yteam = SHMEM_TEAM_INVALID;
    if (parent == NULL || xrange < 1)
        return -1;
    int n = parent->n, width = xrange < n ? xrange : n;
    int x = parent->me % width, row = parent->me - x;
    const struct plan plans[2] = {
        {row, 1, n - row < width ? n - row : width, contexts_of(xconfig, xmask, call), true},
        {x, width, (n - x + width - 1) / width, contexts_of(yconfig, ymask, call), true},
    };
    const struct argument args[3] = {{"xrange", xrange}}; /* the others are 0 on all PEs */
    shmem_team_t *handles[2] = {xteam, yteam};
    return split_team(parent, plans, 2, args, handles, call);
}

/* Implements shmem_team_destroy: completes the team's contexts, syncs its members so that no
 * message is under way, and frees its slot. */
void shmemi_team_destroy(shmem_team_t team, const char *call)
{
    struct shmemi_team *t = shmemi_team_of(team, call);
    if (t == NULL)
        return;
    if (t == &shmemi_world || t == shmemi_team_always(team))
        shmemi_abort(call, "destroy only teams that a split has made", "team %d is always there",
                     (int)team);
    bool completed = false;
    shmemi_ctx_end_team(team, call);
    /* A team with lost PEs is freed as well. */
    if (shmemi_collective_begin(t, call)) {
        shmemi_sync_members(t, call);
        completed = shmemi_collective_end();
    }
    if (!completed)
        shmemi_team_settle(t, call); /* some messages were not awaited */
    shmemi_kernels_hide(t, call);
    shmemi_slot_release(t);
}
