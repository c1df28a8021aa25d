/*
 * agree.c: an agreement among the members of a team, of whom any may die at any time.
 *
 * The first member that is alive coordinates: it collects the contributions, proposes the result,
 * and commits it when all have accepted. When it is lost, the next member takes over, and members
 * that waited for the first coordinator wait for that one. A new coordinator reads what each member
 * has accepted, and proposes the proposal of the latest coordinator among them, if there is one: a
 * committed result was accepted by all, so no other can be proposed any more (Paxos with one
 * coordinator for each round; the failure detector replaces the timeout).
 *
 * The contribution of a PE and the result that it has accepted are in its own memory, where others
 * read them. So a PE that has left the call, because it received the commit in time, need not
 * answer when another coordinator reads them. A PE notifies another by one word for each sender in
 * the receiver's memory, which only grows: the number of the agreement, the coordinator, and a
 * step.
 *
 * A PE can be two agreements ahead of another only when the older one has finished, so two records,
 * used alternately, are enough.
 */
#include "agree.h"

#include "clock.h"
#include "failure.h"
#include "front.h"
#include "notify.h"
#include "remote.h"
#include "team.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>
#include <stdlib.h>

/* The last field of a word that one member writes to another: how far it is. */
enum step { ARRIVED, PROPOSED, ACCEPTED, COMMITTED };

/* What one PE contributes to an agreement and what it has accepted, in its symmetric memory. stamp
 * is written last (pack_stamp). After it come the PE's contribution and the result that it has
 * accepted, each a struct shmemi_common. */
struct record {
    uint64_t stamp;
};

/* An agreement, as this PE takes part in it, and its present wait for a member (await). */
struct agreement {
    struct shmemi_team *t;
    uint64_t number;
    const char *call;
    size_t size;      /* bytes of a struct shmemi_common of the team */
    int about;        /* rank of the member for which this PE waits */
    uint64_t want;    /* the word that this PE waits for the member to write */
    uint64_t checked; /* when the member's record was last read, in nanoseconds */
    bool left;        /* the member has committed the result, and perhaps returned */
};

/* ------------------------------------------------------------------- memory */

/* Packs the word that one member writes to another (send_word). Later agreements, coordinators and
 * steps give greater words, so that a receiver may compare with >=. */
static uint64_t pack_word(uint64_t number, int coordinator, enum step step)
{
    return number << 32 | (uint64_t)(coordinator + 1) << 2 | step;
}

/* Packs the stamp of a record: the number of the agreement, the rank of the coordinator whose
 * proposal the PE has accepted (-1: none), and whether that result is committed. */
static uint64_t pack_stamp(uint64_t number, int coordinator, bool committed)
{
    return number << 32 | (uint64_t)(coordinator + 1) << 1 | committed;
}

/* Returns the rank of the coordinator whose proposal the PE has accepted, by its record's stamp;
 * -1: it has accepted none yet. */
static int coordinator_of(uint64_t stamp)
{
    return (int)((uint32_t)stamp >> 1) - 1;
}

/* Returns the offset, from the user heap, of the word that a sender writes at this member; the same
 * at every member. */
static int64_t word_of(const struct agreement *a, int sender)
{
    return a->t->agreements + (int64_t)sizeof(uint64_t) * sender;
}

/* Returns the offset of this agreement's record: the first or the second of two, by the parity of
 * its number. The records come after the words, of which there are as many as the job has PEs. */
static int64_t record_at(const struct agreement *a)
{
    size_t words = ((size_t)shmemi_state.n_pes * sizeof(uint64_t) + SHMEMI_CACHE_LINE - 1) /
                   SHMEMI_CACHE_LINE * SHMEMI_CACHE_LINE;
    size_t record_bytes = (shmemi_state.agree_size - words) / 2;
    return a->t->agreements + (int64_t)(words + record_bytes * (a->number & 1));
}

/* Returns the offset, from the user heap, of a member's contribution in its record. */
static int64_t contribution_at(const struct agreement *a)
{
    return record_at(a) + (int64_t)sizeof(struct record);
}

/* Returns the offset, from the user heap, of the result that a member has accepted, in its record.
 */
static int64_t accepted_at(const struct agreement *a)
{
    return contribution_at(a) + (int64_t)a->size;
}

/* Returns the address in this PE's memory of what is at an offset from the user heap. */
static void *mine(int64_t offset)
{
    return shmemi_state.peer_base[shmemi_state.my_pe] + offset;
}

/* Reports whether the member with a rank is lost. */
static bool is_lost(const struct agreement *a, int rank)
{
    return shmemi_is_lost(a->t->pes[rank]);
}

/* Reads n bytes at an offset of member rank, by loads or by a get. Returns false if the PE is lost:
 * then the bytes mean nothing. */
static bool read_of(const struct agreement *a, int rank, int64_t offset, void *to, size_t n)
{
    int pe = a->t->pes[rank];
    const char *base = shmemi_state.peer_base[pe];
    if (base != NULL) { /* the memory stays mapped after the PE has died */
        memcpy(to, base + offset, n);
        return true;
    }
    shmemi_net_do(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_GET,
                                                  .pe = pe,
                                                  .offset = offset,
                                                  .nbytes = n,
                                                  .dest = to,
                                                  .call = a->call});
    return !is_lost(a, rank);
}

/* Reads the stamp of member rank's record. Returns false if the PE is lost. */
static bool stamp_of(const struct agreement *a, int rank, uint64_t *to)
{
    const char *base = shmemi_state.peer_base[a->t->pes[rank]];
    if (base == NULL)
        return read_of(a, rank, record_at(a), to, sizeof *to);
    *to = shmemi_observe((const uint64_t *)(base + record_at(a)));
    return true;
}

/* Writes to this PE's record that it has accepted the result c of a coordinator, or that c is
 * committed. */
static void record_accepted(const struct agreement *a, const struct shmemi_common *c,
                            int coordinator, bool committed)
{
    memcpy(mine(accepted_at(a)), c, a->size);
    shmemi_publish((uint64_t *)mine(record_at(a)), pack_stamp(a->number, coordinator, committed));
}

/* Writes this PE's word at member rank: this PE has reached a step of the coordinator's round. */
static void send_word(const struct agreement *a, int rank, int coordinator, enum step step)
{
    int pe = a->t->pes[rank];
    char *base = shmemi_state.peer_base[pe];
    uint64_t word = pack_word(a->number, coordinator, step);
    int64_t at = word_of(a, a->t->me);
    if (base == NULL) {
        shmemi_net_do(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_PUT,
                                                      .pe = pe,
                                                      .offset = at,
                                                      .nbytes = sizeof word,
                                                      .source = &word,
                                                      .call = a->call});
        return;
    }
    shmemi_publish((uint64_t *)(base + at), word);
    shmemi_notify(pe);
}

/* ------------------------------------------------------------------ waiting */

/* The pause between two reads of the record of a PE on another node that may have left the
 * agreement. */
#define CHECK_NS 2000000u

/* Reads the record of the awaited member, and sets a->left if the record says that the result is
 * committed: that member has returned, or will, and sends no more words to this PE. */
static void check_left(struct agreement *a)
{
    uint64_t s;
    a->left = stamp_of(a, a->about, &s) && s >> 32 == a->number && (s & 1) != 0;
    a->checked = shmemi_now();
}

/* Reports whether the awaited member has written the word that this PE waits for. */
static bool has_written(const struct agreement *a)
{
    return shmemi_observe((const uint64_t *)mine(word_of(a, a->about))) >= a->want;
}

/* For the hang report: names the member and the step that it has yet to take, which is the last
 * field of the awaited word. */
static void describe(const void *subject, char *text, size_t size)
{
    const struct agreement *a = subject;
    static const char *const what[] = {"to come", "to propose", "to accept", "to commit"};
    snprintf(text, size, "for PE %d, which is alive, %s", a->t->pes[a->about], what[a->want & 3]);
}

/* Waits until member rank has written the word of a coordinator and a step, or is lost.
 * may_have_left: the member may have committed the result earlier, and left the call without a word
 * to this PE, so its record is read every CHECK_NS. Returns true if the member has written the
 * word, or has left (a->left), and false if it is lost. */
static bool await(struct agreement *a, int rank, int coordinator, enum step step,
                  bool may_have_left)
{
    a->about = rank;
    a->want = pack_word(a->number, coordinator, step);
    a->left = false;
    a->checked = shmemi_now();
    struct shmemi_waiter w = {.ctl = shmemi_my_ctl(),
                              .call = a->call,
                              .describe = describe,
                              .subject = a,
                              .whom = SHMEMI_NOBODY,
                              .pe = a->t->pes[rank],
                              .about = true};
    while (!has_written(a) && !is_lost(a, rank) && !a->left) {
        shmemi_wait_step(&w);
        if (!may_have_left || shmemi_now() - a->checked < CHECK_NS)
            continue;
        shmemi_wait_over(&w); /* the read may wait, too, and only one wait may poll the network */
        check_left(a);
    }
    shmemi_wait_over(&w);
    return has_written(a) || a->left;
}

/* -------------------------------------------------------------------- steps */

/* Combines one member's contribution with those before it: flags and free slots that all have, and
 * losses that any of the n members knows of. */
static void combine_one(struct shmemi_common *all, const struct shmemi_common *c, int n)
{
    all->flags &= c->flags;
    for (int i = 0; i < SHMEMI_TEAM_SLOTS / 64; i++)
        all->free[i] &= c->free[i];
    for (int i = 0; i < (n + 63) / 64; i++)
        all->lost[i] |= c->lost[i];
}

/* Takes part in an agreement that another member coordinates: sends ARRIVED, accepts the proposal,
 * and waits for the commit. Returns true if *result is the committed result, false if the
 * coordinator is lost. */
static bool follow_coordinator(struct agreement *a, int coordinator, struct shmemi_common *result)
{
    /* A later coordinator may have received the commit of an earlier one, which is lost. */
    bool may_have_left = coordinator > 0;
    send_word(a, coordinator, coordinator, ARRIVED);
    if (!await(a, coordinator, coordinator, PROPOSED, may_have_left) ||
        !read_of(a, coordinator, accepted_at(a), result, a->size))
        return false;
    record_accepted(a, result, coordinator, a->left);
    if (a->left)
        return true;
    send_word(a, coordinator, coordinator, ACCEPTED);
    if (!await(a, coordinator, coordinator, COMMITTED, /* may_have_left */ false))
        return false;
    record_accepted(a, result, coordinator, /* committed */ true);
    return true;
}

/* Called by the coordinator for each member: waits until the member has arrived, and reads its
 * record. Combines the member's contribution with those in `all`. If the member has accepted the
 * proposal of a later coordinator than *latest, copies that proposal to `chosen`. `part` is memory
 * for one contribution. Returns false if the member is lost, or has committed and left. */
static bool collect_contribution(struct agreement *a, int rank, struct shmemi_common *all,
                                 int *latest, struct shmemi_common *chosen,
                                 struct shmemi_common *part)
{
    uint64_t s;
    const int me = a->t->me;
    /* Only rank 0 coordinates before any result can be committed (may_have_left of await). */
    if (rank != me && (is_lost(a, rank) || !await(a, rank, me, ARRIVED, me > 0)))
        return false;
    if (!stamp_of(a, rank, &s) || !read_of(a, rank, contribution_at(a), part, a->size))
        return false;
    bool left = (s & 1) != 0;
    if (!left)
        combine_one(all, part, a->t->n);
    if (coordinator_of(s) > *latest) {
        if (!read_of(a, rank, accepted_at(a), part, a->size))
            return false;
        *latest = coordinator_of(s);
        memcpy(chosen, part, a->size);
    }
    return !left;
}

/* Coordinates the agreement: collects the contributions, proposes the result, waits until all have
 * accepted, and commits it. *result has this PE's contribution at the call, and the committed
 * result afterwards. A proposal that some member has accepted from an earlier coordinator replaces
 * the combination of the contributions. present: an array that gets true for each rank that takes
 * part. memory: for two struct shmemi_common. */
static void coordinate(struct agreement *a, struct shmemi_common *result, char *present,
                       char *memory)
{
    struct shmemi_common *chosen = (void *)memory, *part = (void *)(memory + a->size);
    int n = a->t->n, me = a->t->me, latest = -1;
    for (int rank = 0; rank < n; rank++)
        present[rank] = collect_contribution(a, rank, result, &latest, chosen, part);
    for (int rank = 0; rank < n; rank++)
        if (is_lost(a, rank))
            result->lost[rank / 64] |= (uint64_t)1 << rank % 64;
    if (latest >= 0)
        memcpy(result, chosen, a->size);
    record_accepted(a, result, me, /* committed */ false);
    for (int i = 1; i < n; i++)
        if (present[(me + i) % n])
            send_word(a, (me + i) % n, me, PROPOSED);
    for (int rank = 0; rank < n; rank++)
        if (present[rank] && rank != me)
            await(a, rank, me, ACCEPTED, /* may_have_left */ false);
    record_accepted(a, result, me, /* committed */ true);
    for (int i = 1; i < n; i++)
        if (present[(me + i) % n] && !is_lost(a, (me + i) % n))
            send_word(a, (me + i) % n, me, COMMITTED);
}

/* Agrees with the other members on a result, which replaces the contribution in c. Follows each
 * member before this one that is alive, one after the other, as the coordinator; if all of them are
 * lost, this PE coordinates. */
void shmemi_agree(struct shmemi_team *t, struct shmemi_common *c, const char *call)
{
    struct agreement a = {
        .t = t, .number = ++t->agreed, .call = call, .size = shmemi_common_size(t)};
    char *memory = t->agreeing;
    shmemi_write_once((uint64_t *)mine(record_at(&a)), 0);
    shmemi_fence_stores(); /* no PE may mistake the new contribution for one to the old agreement */
    memcpy(mine(contribution_at(&a)), c, a.size);
    shmemi_publish((uint64_t *)mine(record_at(&a)),
                   pack_stamp(a.number, /* coordinator */ -1, /* committed */ false));
    shmemi_mute(true); /* a loss must not fail the call: the agreement handles it */
    for (int rank = 0; rank < t->me; rank++) {
        if (is_lost(&a, rank))
            continue;
        if (follow_coordinator(&a, rank, c)) {
            shmemi_mute(false);
            return;
        }
        memcpy(c, mine(contribution_at(&a)), a.size);
    }
    coordinate(&a, c, memory + 4 * a.size, memory);
    shmemi_mute(false);
}

/* Sets where the records and words of a team's agreements are in the area of its slot, and
 * allocates the buffer for its contributions. Returns 0, or -1 if there is no memory. */
int shmemi_agree_open(struct shmemi_team *t, uint32_t slot)
{
    const struct shmemi_state *s = &shmemi_state;
    free(t->agreeing);
    /* Two for coordinate, two for shmemi_team_survivors, and a byte for each member (present). */
    t->agreeing = malloc(4 * shmemi_common_size(t) + (size_t)t->n);
    t->agreed = 0;
    /* An offset from the user heap, and negative: the areas of the slots begin teams_offset bytes
     * below the user heap, and the last agree_size bytes of each are for agreements. */
    t->agreements = (int64_t)(s->team_size * (slot + 1) - s->agree_size) - (int64_t)s->teams_offset;
    memset(s->peer_base[s->my_pe] + t->agreements, 0, s->agree_size);
    return t->agreeing == NULL ? -1 : 0;
}

/* How many quiets complete all operations to PEs that are alive: a lost PE makes the first one
 * fail, and the second does not wait for it. */
#define QUIETS 2

/* Completes this PE's operations by quiets, in which losses fail no call, so that no message of a
 * broken call of the team arrives later. */
void shmemi_team_settle(struct shmemi_team *t, const char *call)
{
    /* The word is greater than all words of this PE's last agreement, and less than those of the
     * next. */
    const uint64_t word = (t->agreed + 1) << 32;
    shmemi_mute(true);
    /* A quiet does not wait for the library's messages alone. This put counts as an operation of
     * the program, so the next quiet waits for it and for them. One put, to any PE of another node,
     * is enough. */
    for (int rank = 0; rank < t->n; rank++) {
        int pe = t->pes[rank];
        if (shmemi_state.peer_base[pe] != NULL || shmemi_is_lost(pe))
            continue;
        shmemi_net_do(
            &(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_PUT,
                                            .pe = pe,
                                            .offset = t->agreements + (int64_t)sizeof word * t->me,
                                            .nbytes = sizeof word,
                                            .source = &word,
                                            .call = call});
        break;
    }
    for (int i = 0; i < QUIETS; i++)
        shmemi_quiet(SHMEM_CTX_DEFAULT, call);
    shmemi_mute(false);
}
