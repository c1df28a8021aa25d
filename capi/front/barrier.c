/*
 * barrier.c: how the members of a team meet.
 *
 * Within a node by counters in shared control pages: two PEs write to each other; more count in the
 * page of the node's first PE, and the last to come releases the others, so that with more PEs than
 * cores each PE needs to run only once. Between nodes the first PEs exchange messages in ceil(log2
 * n) rounds (dissemination).
 */
#include "barrier.h"

#include "failure.h"
#include "message.h"
#include "notify.h"
#include "activeset_messages.h"
#include "team.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>

static uint32_t epoch;

static struct shmemi_ctl *leader_ctl(void)
{
    return shmemi_ctl_of(shmemi_state.peer_base[shmemi_state.node_members[0]]);
}

static bool reached(const uint32_t *word, uint32_t want)
{
    return (int32_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) - want) >= 0;
}

static void describe_barrier(const void *subject, char *text, size_t size)
{
    const struct shmemi_state *s = &shmemi_state;
    uint32_t want = *(const uint32_t *)subject;
    size_t used = (size_t)snprintf(text, size, "barrier %u; not there yet:", want);
    bool any = false;
    for (uint32_t i = 0; i < s->node_pes && used < size; i++) {
        int pe = s->node_members[i];
        if (!reached(&shmemi_ctl_of(s->peer_base[pe])->epoch, want)) {
            used += (size_t)snprintf(text + used, size - used, " PE %d", pe);
            any = true;
        }
    }
    if (!any && used < size)
        snprintf(text + used, size - used, " a PE of another node");
}

/* When the whole node has come, its first PE is waiting for another node. */
static int late_at_barrier(const void *subject, int32_t *pes, int most)
{
    const struct shmemi_state *s = &shmemi_state;
    uint32_t want = *(const uint32_t *)subject;
    int n = 0;
    for (uint32_t i = 0; i < s->node_pes; i++) {
        int pe = s->node_members[i];
        if (!reached(&shmemi_ctl_of(s->peer_base[pe])->epoch, want) && n++ < most)
            pes[n - 1] = pe;
    }
    if (n == 0 && s->node_rank != 0)
        pes[n++] = s->node_members[0];
    return n;
}

static void wait_node(struct shmemi_ctl *ctl, const uint32_t *word, uint32_t want, const char *call)
{
    SHMEMI_WAIT_FOR(ctl, call, describe_barrier, &epoch, reached(word, want),
                    .whom = SHMEMI_MEMBERS, .late = late_at_barrier);
}

static void sync_two(const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    struct shmemi_ctl *peer = shmemi_ctl_of(s->peer_base[s->node_members[1 - s->node_rank]]);
    struct shmemi_ctl *mine = shmemi_my_ctl();
    __atomic_store_n(&peer->pairwise, epoch, __ATOMIC_RELEASE);
    shmemi_notify_at(peer);
    wait_node(mine, &mine->pairwise, epoch, call);
}

static void sync_leaders(const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    uint32_t n = s->n_nodes, me = s->node;
    for (uint32_t distance = 1; distance < n; distance *= 2) {
        shmemi_message(&shmemi_world, s->node_leaders[(me + distance) % n], call);
        shmemi_await(&shmemi_world, s->node_leaders[(me + n - distance) % n], call);
    }
}

static void sync_many(const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    struct shmemi_ctl *c = leader_ctl();
    bool leads = s->node_rank == 0;

    if (s->n_nodes == 1) {
        if (__atomic_add_fetch(&c->arrived, 1, __ATOMIC_ACQ_REL) != s->node_pes) {
            wait_node(c, &c->released, epoch, call);
            return;
        }
    } else if (!leads) {
        __atomic_fetch_add(&c->arrived, 1, __ATOMIC_ACQ_REL);
        shmemi_notify_at(c);
        wait_node(c, &c->released, epoch, call);
        return;
    } else {
        wait_node(c, &c->arrived, s->node_pes - 1, call);
        sync_leaders(call);
        if (!shmemi_collective_holds())
            return;
    }
    __atomic_store_n(&c->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&c->released, epoch, __ATOMIC_RELEASE);
    shmemi_notify_at(c);
}

/* Other collective calls use it, too. So it is no exchange, which would overwrite slots that are
 * still to be read (shmemi_exchange_prefix). */
void shmemi_meet_all(const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    if (!shmemi_collective_begin(&shmemi_world, call))
        return;
    epoch++;
    __atomic_store_n(&shmemi_my_ctl()->epoch, epoch, __ATOMIC_RELEASE);
    if (s->n_nodes == 1 && s->node_pes == 2)
        sync_two(call);
    else if (s->node_pes > 1 || s->n_nodes > 1)
        sync_many(call);
    shmemi_collective_end();
}

/* The members on a node write to the first one there, and the first ones to each other. */
static void meet_by_messages(struct shmemi_team *t, const char *call)
{
    int leader = t->near[0];
    if (t->me != leader) {
        shmemi_message(t, leader, call);
        shmemi_await(t, leader, call);
        return;
    }
    for (uint32_t i = 1; i < t->n_near; i++)
        shmemi_await(t, t->near[i], call);
    for (uint32_t distance = 1; distance < t->n_nodes; distance *= 2) {
        shmemi_message(t, t->leaders[(t->node + distance) % t->n_nodes], call);
        shmemi_await(t, t->leaders[(t->node + t->n_nodes - distance) % t->n_nodes], call);
    }
    for (uint32_t i = 1; i < t->n_near; i++)
        shmemi_message(t, t->near[i], call);
}

void shmemi_team_meet(struct shmemi_team *t, const char *call)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (t == &shmemi_world)
        shmemi_meet_all(call);
    else if (t->psync != NULL)
        shmemi_activeset_meet(t, call);
    else
        meet_by_messages(t, call);
}

void shmemi_barrier_open(void)
{
    epoch = 0;
}
