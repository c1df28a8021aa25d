/*
 * message.c: the messages between the members of a team, which are counts in inboxes.
 */
#include "message.h"

#include "address.h"
#include "context.h"
#include "failure.h"
#include "gpu.h"
#include "notify.h"
#include "quiet.h"
#include "remote.h"
#include "team.h"
#include "wait.h"
#include "waiter.h"

#include <stdio.h>

#include "zz_message.h"

/* How many bytes of data fit into one message of the engine. */
enum { PAYLOAD = SHMEMI_MESSAGE_SIZE - SHMEMI_HEADER_SIZE };

/* Returns the offset from the user heap of this PE's word in the inboxes of the team's members. */
static int64_t inbox_word(const struct shmemi_team *t)
{
    return t->inbox + (int64_t)sizeof(uint64_t) * t->me;
}

/* Keeps a message's count from overtaking earlier counts to the same PE. The count in an inbox is
 * set, and not added to. So if the count of a large message, which is written when its data has
 * arrived, came after the count of a later small message, it would set the count back. A fence
 * prevents that: it does not wait, but the target applies the messages before the fence first. No
 * fence is needed if the network keeps all messages behind earlier data (net_ordered), if it keeps
 * counts of large messages in order (net_signals) and this one is large, or if no operation was
 * posted since the last fence. */
static void keep_order(bool large, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    if (!s->net_ordered && !(large && s->net_signals) &&
        shmemi_marked(&shmemi_contexts[0].unfenced))
        shmemi_fence_slow(SHMEM_CTX_DEFAULT, call);
}

/* Sends a message without data to member rank: sets the word of this PE in that member's inbox to
 * the number of messages so far. After the loss of a member it sends nothing. */
void shmemi_message(struct shmemi_team *t, int rank, const char *call)
{
    if (SHMEMI_UNLIKELY(!shmemi_collective_unbroken()))
        return;
    int pe = t->pes[rank];
    char *base = shmemi_state.peer_base[pe];
    uint64_t count = ++t->sent[rank];
    if (base == NULL) {
        keep_order(/* large */ false, call);
        shmemi_net_message(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_AMO,
                                                           .pe = pe,
                                                           .offset = inbox_word(t),
                                                           .op = SHMEMI_AMO_SET,
                                                           .width = sizeof count,
                                                           .operand = count,
                                                           .call = call});
        return;
    }
    shmemi_publish((uint64_t *)(base + inbox_word(t)), count);
    shmemi_notify(pe);
}

/* Waits until the oldest message in the list no longer reads its source, and removes it from the
 * list. */
static void await_oldest(struct shmemi_lent *lent, const char *call)
{
    uint64_t i = lent->ended++ % SHMEMI_LENT;
    shmemi_net_finish(&lent->requests[i], lent->pes[i], call);
}

/* Waits until no message of the list reads its source any more, so that the program may reuse that
 * memory. */
void shmemi_lent_back(struct shmemi_lent *lent, const char *call)
{
    while (lent->ended < lent->begun)
        await_oldest(lent, call);
}

/* Sends a message with data to a PE of another node, and adds it to the list `lent` of messages
 * that still read their source. If the list is full, it first waits for the oldest. NULL: the
 * source stays unchanged until the message has arrived, and no call waits for it. */
static void send_data(struct shmemi_host_operation *o, struct shmemi_lent *lent)
{
    keep_order(o->nbytes > PAYLOAD, o->call);
    if (lent == NULL) {
        shmemi_net_lend(o);
        return;
    }
    if (lent->begun - lent->ended == SHMEMI_LENT)
        await_oldest(lent, o->call);
    o->request = &lent->requests[lent->begun % SHMEMI_LENT];
    lent->pes[lent->begun % SHMEMI_LENT] = o->pe;
    lent->begun += shmemi_net_lend(o); /* false: the source is free already, and no entry is used */
}

/* Sends a message with data to an offset at member rank: writes the data there, and then sets the
 * word that counts this PE's messages, by stores on the node, by a put with signal between nodes.
 */
void shmemi_message_at(struct shmemi_team *t, int rank, int64_t offset, const void *source,
                       size_t n, struct shmemi_lent *lent, const char *call)
{
    if (SHMEMI_UNLIKELY(!shmemi_collective_unbroken()))
        return;
    int pe = t->pes[rank];
    char *control = shmemi_state.peer_base[pe];
    char *base = shmemi_reachable(pe, offset);
    if (base != NULL && control != NULL) {
        shmemi_move(base + offset, source, n, call);
        shmemi_message(t, rank, call);
        return;
    }
    struct shmemi_host_operation o = {.kind = SHMEMI_OPERATION_PUT_SIGNAL,
                                      .pe = pe,
                                      .offset = offset,
                                      .nbytes = n,
                                      .source = source,
                                      .signal_offset = inbox_word(t),
                                      .op = SHMEMI_AMO_SET,
                                      .call = call};
    if (control == NULL) {
        o.operand = ++t->sent[rank];
        send_data(&o, lent);
        return;
    }
    /* The PE is on this node, and its heap in GPU memory that this process cannot map: the network
     * writes the data, and a store the count, as for all messages to that PE. On two paths a count
     * could arrive late, and set the word back. */
    o.kind = SHMEMI_OPERATION_PUT;
    shmemi_net_do(&o);
    shmemi_quiet_slow(SHMEM_CTX_DEFAULT, call);
    shmemi_message(t, rank, call);
}

/* Sends a message with data to a symmetric address at member rank. */
void shmemi_message_data(struct shmemi_team *t, int rank, void *dest, const void *source, size_t n,
                         struct shmemi_lent *lent, const char *call)
{
    /* Without bytes there is no destination: dest may then be NULL. */
    shmemi_message_at(t, rank, n == 0 ? 0 : shmemi_offset(dest), source, n, lent, call);
}

/* The message for which shmemi_await waits: the word that counts those of rank in this PE's inbox.
 */
struct awaited {
    const struct shmemi_team *t;
    const uint64_t *count;
    int rank;
};

/* For the hang report: names the PE whose message is missing, and counts those that came. */
static void describe_await(const void *subject, char *text, size_t size)
{
    const struct awaited *a = subject;
    snprintf(text, size, "for message %llu of PE %d, has %llu",
             (unsigned long long)a->t->seen[a->rank], a->t->pes[a->rank],
             (unsigned long long)shmemi_read_once(a->count));
}

/* Waits for the next message of member rank: until its count in this PE's inbox reaches the number
 * of messages that this PE has awaited from it. */
void shmemi_await(struct shmemi_team *t, int rank, const char *call)
{
    const uint64_t *inbox =
        (const uint64_t *)(shmemi_state.peer_base[shmemi_state.my_pe] + t->inbox);
    struct awaited a = {t, &inbox[rank], rank};
    uint64_t want = ++t->seen[rank];
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_await, &a, shmemi_observe(a.count) >= want,
                    .whom = SHMEMI_MEMBERS, .pe = t->pes[rank], .about = true);
}
