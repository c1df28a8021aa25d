/*
 * barrier.c: syncs of the members of a team.
 *
 * On one node PEs sync in steps of cache lines (lines.h), or by a counter if they share processors.
 * Between nodes the PEs of each node sync by a counter or by messages to its first PE, and the
 * first PEs exchange messages (dissemination).
 */
#include "barrier.h"

#include "failure.h"
#include "lines.h"
#include "message.h"
#include "model.h"
#include "notify.h"
#include "activeset_messages.h"
#include "team.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>

/* How many syncs of the world this PE has begun; the number of its present one. */
static uint32_t epoch;

/* Reports whether a counter has reached a value; acquire. Both may wrap, so their difference is
 * compared. */
static bool has_reached(const uint32_t *word, uint32_t want)
{
    return (int32_t)(shmemi_observe(word) - want) >= 0;
}

/* Writes the text of a report about a long wait in a barrier of the world: the PEs of this node
 * that have not reached it. If all of them have, this PE waits for another node. */
static void describe_barrier(const void *subject, char *text, size_t size)
{
    const struct shmemi_state *s = &shmemi_state;
    uint32_t want = *(const uint32_t *)subject;
    size_t used = (size_t)snprintf(text, size, "barrier %u; not there yet:", want);
    bool any = false;
    for (uint32_t i = 0; i < s->node_pes && used < size; i++) {
        int pe = s->node_members[i];
        if (!has_reached(&shmemi_ctl_of(s->peer_base[pe])->epoch, want)) {
            used += (size_t)snprintf(text + used, size - used, " PE %d", pe);
            any = true;
        }
    }
    if (!any && used < size)
        snprintf(text + used, size - used, " a PE of another node");
}

/* Lists the PEs for which a sync of the world waits: those of this node that have not arrived. If
 * all have, the first PE of the node waits for another node, and the other PEs wait for the first
 * one. Returns how many PEs it has found; up to `limit` of them are in pes. */
static int late_at_barrier(const void *subject, int32_t *pes, int limit)
{
    const struct shmemi_state *s = &shmemi_state;
    uint32_t want = *(const uint32_t *)subject;
    int n = 0;
    for (uint32_t i = 0; i < s->node_pes; i++) {
        int pe = s->node_members[i];
        if (!has_reached(&shmemi_ctl_of(s->peer_base[pe])->epoch, want) && n++ < limit)
            pes[n - 1] = pe;
    }
    if (n == 0 && s->node_rank != 0)
        pes[n++] = s->node_members[0];
    return n;
}

/* Waits until a counter in the node's shared page has reached want, or a PE is lost. */
static void wait_node(const uint32_t *word, uint32_t want, const char *call)
{
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_barrier, &epoch, has_reached(word, want),
                    .whom = SHMEMI_MEMBERS, .late = late_at_barrier);
}

/* Syncs the nodes, in ceil(log2 n) steps; the first member of each node calls it. In each step a
 * node sends to the node at a distance of 1, 2, 4 and so on, and waits for the node at the same
 * distance on the other side. If the number of nodes is a power of two, pairs of nodes exchange
 * messages: over tcp these acknowledge each other, and four nodes take 16 us instead of 24. */
static void sync_nodes(struct shmemi_team *t, const char *call)
{
    uint32_t n = t->n_nodes, me = t->node;
    bool pairs = shmemi_in_pairs(n);
    for (uint32_t distance = 1; distance < n; distance *= 2) {
        shmemi_message(t, t->leaders[pairs ? me ^ distance : (me + distance) % n], call);
        shmemi_await(t, t->leaders[pairs ? me ^ distance : (me + n - distance) % n], call);
    }
}

/*
 * Syncs the world by a counter in the control page of the node's first PE. several_nodes: there are
 * several nodes, whose first PEs sync by messages. Where PEs share processors, a counter needs each
 * PE to run only once, while in steps a PE waits until its next partner runs. With several nodes
 * the network takes far longer than either. The PE that ends the sync sets the counter to 0 for the
 * next one, and then `released` to the number of this one, for which the others wait. It notifies
 * each PE at the PE's own page. On a common page all of them would wake at each put to the PE that
 * owns the page.
 */
static void sync_by_counter(bool several_nodes, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    struct shmemi_ctl *c = shmemi_node_ctl();
    bool last = shmemi_arrive(&c->arrived) == s->node_pes;
    /* On a single node the last PE to arrive ends the sync. With several nodes the first PE of each
     * node does, after it has synced with those of the others. */
    if (!several_nodes ? !last : s->node_rank != 0) {
        if (last)
            shmemi_notify_at(c); /* the first PE, which waits for the count */
        wait_node(&c->released, epoch, call);
        return;
    }
    if (several_nodes) {
        wait_node(&c->arrived, s->node_pes, call);
        sync_nodes(&shmemi_world, call);
        if (!shmemi_collective_unbroken())
            return; /* a PE is lost: the others see it, too, and end their waits */
    }
    shmemi_write_once(&c->arrived, 0);
    shmemi_publish(&c->released, epoch);
    for (uint32_t i = 0; i < s->node_pes; i++)
        shmemi_notify(s->node_members[i]);
}

/* Counts one more sync of the world, and publishes the count in this PE's control page: reports of
 * other PEs see there which PEs have not arrived. */
static void begin_epoch(void)
{
    epoch++;
    shmemi_publish(&shmemi_my_ctl()->epoch, epoch);
}

/* How the report of a long wait in the lines of the world lists the PEs that have not arrived. */
static const struct shmemi_lines_report report = {describe_barrier, &epoch, late_at_barrier};

/* Reports whether the PEs of this node sync by a counter rather than in steps: if they are more
 * than the node's processors. For two PEs a step is as cheap. */
static bool node_uses_counter(void)
{
    return shmemi_state.node_crowded && shmemi_state.node_pes > 2;
}

/* Syncs the members of a team that are on this node in steps of cache lines: by a combination of no
 * values. wait_report: how the report of a long wait lists the late PEs; NULL: by their lines. */
SHMEMI_INLINE void sync_in_lines(struct shmemi_team *t,
                                 const struct shmemi_lines_report *wait_report, const char *call)
{
    shmemi_lines_combine(t, &(char){0}, 0, NULL, wait_report, call);
}

/* Syncs the world. This must not be an exchange (exchange.h): shmemi_exchange_prefix ends with this
 * sync, and an exchange would overwrite slots that other PEs have yet to read. */
void shmemi_sync_world(const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    if (!shmemi_collective_begin(&shmemi_world, call))
        return;
    begin_epoch();
    if (s->n_nodes > 1 || node_uses_counter())
        sync_by_counter(s->n_nodes > 1, call);
    else if (s->node_pes > 1)
        sync_in_lines(&shmemi_world, &report, call);
    shmemi_collective_end();
}

/* Waits until all members of a team on this node have called it; earlier operations by loads and
 * stores are then visible to them. A member that is alone on its node does not wait. */
void shmemi_sync_node(struct shmemi_team *t, const char *call)
{
    if (t->n_near == 1)
        return;
    shmemi_fence_all();
    if (t->psync != NULL) {
        shmemi_activeset_sync_node(t, call);
        return;
    }
    if (t != &shmemi_world) {
        sync_in_lines(t, NULL, call);
        return;
    }
    begin_epoch();
    if (node_uses_counter())
        sync_by_counter(/* several_nodes */ false, call);
    else
        sync_in_lines(t, &report, call);
}

/* Syncs a team on several nodes: the members on a node send messages to the first one there, and
 * the first ones to each other. */
static void sync_by_messages(struct shmemi_team *t, const char *call)
{
    int leader = t->near[0];
    if (t->me != leader) {
        shmemi_message(t, leader, call);
        shmemi_await(t, leader, call);
        return;
    }
    for (uint32_t i = 1; i < t->n_near; i++)
        shmemi_await(t, t->near[i], call);
    sync_nodes(t, call);
    for (uint32_t i = 1; i < t->n_near; i++)
        shmemi_message(t, t->near[i], call);
}

/* Syncs the members of any team, with the function for its kind: the world, an active set, a team
 * on one node, or a team across nodes. */
void shmemi_sync_members(struct shmemi_team *t, const char *call)
{
    shmemi_fence_all();
    if (t == &shmemi_world)
        shmemi_sync_world(call);
    else if (t->psync != NULL)
        shmemi_activeset_sync_members(t, call);
    else if (t->n_nodes == 1)
        sync_in_lines(t, NULL, call);
    else
        sync_by_messages(t, call);
}

/* At init: resets the count of barriers, because this PE has begun none of the job yet. */
void shmemi_barrier_open(void)
{
    epoch = 0;
}
