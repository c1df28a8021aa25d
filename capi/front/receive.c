/*
 * receive.c: the receivers of two-sided messages (mail.h).
 */
#define _GNU_SOURCE
#include "receive.h"

#include "address.h"
#include "error.h"
#include "failure.h"
#include "gpu.h"
#include "netcall.h"
#include "notify.h"
#include "remote.h"
#include "send.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* How far this PE has read the mailbox of a sender, a ring: how many bytes are free again, counted
 * from init on, and how many of these were returned to the sender as credit. */
struct incoming {
    uint64_t head, returned;
};

/* Guards the two variables after it, and the mailboxes of this PE. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct incoming *incoming; /* by sender */
static uint32_t first;            /* the sender at which the next search begins: round robin */

/* The landings: bounce buffers in the internal area to which senders write parts of long messages,
 * each for one message at a time. */
static struct {
    /* Threads change both by atomic operations, without the lock. */
    uint32_t used;   /* a bit for each landing */
    uint64_t number; /* the last value that was assigned to a signal word of any landing */
} landings;

/* The signal words of a landing, in one cache line. */
struct words {
    uint64_t arrived[2]; /* the number of the part that has arrived, for each half */
    uint64_t unused[6];
};
_Static_assert(sizeof(struct words) == SHMEMI_CACHE_LINE, "the area has a line for each landing");

/* At init: marks all landings (bounce buffers for parts of long messages) as not in use, and
 * allocates the table of how far this PE has read the mailbox of each sender. Returns false if
 * there is no memory. */
bool shmemi_receive_open(void)
{
    landings.used = 0;
    landings.number = 0;
    first = 0;
    incoming = calloc(shmemi_state.n_pes, sizeof *incoming);
    return incoming != NULL;
}

/* At finalize: frees the state of the receivers. */
void shmemi_receive_close(void)
{
    free(incoming);
    incoming = NULL;
}

/* What a search has found. RECEIVED: a message, which is no longer in the mailbox; the bytes of a
 * long one are still at its sender. TOO_SHORT: the buffer is too short for the message, which
 * stays.
 */
enum outcome { NOTHING, RECEIVED, TOO_SHORT };

/* A receive call, and the message that it has accepted. */
struct receipt {
    char *buf;
    size_t capacity;
    int tag, pe; /* the tag and the sender that the call accepts, or SHMEMX_ANY_ */
    const char *call;

    enum outcome outcome;
    int sender, found_tag; /* of the message */
    uint64_t size;         /* of the message, in bytes */
    uint64_t credit;       /* bytes of the mailbox that are free again, to return to the sender */
    uint32_t send;         /* the entry of a long message in the sender's table */
    bool is_long;
    struct shmemi_mail_request request; /* of a long message, the sender's request to send */
    uint32_t others;                    /* messages that the last search has skipped */
};

/* ------------------------------------------------------------------- the search */

/* Searches the mailbox that PE pe fills at this PE for the first message whose tag the call
 * accepts. Removes it, copies a short one to the buffer, and counts freed bytes as credit to
 * return, if they are worth a message. A message that is too long for the buffer stays there.
 * Returns false if there is no such message. The caller has acquired `lock`. */
static bool find_from(struct receipt *r, int pe)
{
    uint32_t ring = shmemi_state.mailbox_size;
    char *box = shmemi_mail_here(shmemi_mailbox(pe));
    struct incoming *in = &incoming[pe];
    struct shmemi_mail_search s = shmemi_mail_find(box, in->head, r->tag, ring);
    r->others += s.others;
    if (SHMEMI_UNLIKELY(s.damaged))
        shmemi_abort(r->call, "look for writes past the end of symmetric memory, on any PE",
                     "the mailbox of PE %d is damaged", pe);
    struct shmemi_mail *m = s.found;
    if (m == NULL)
        return false;
    r->sender = pe;
    r->found_tag = m->tag;
    r->size = shmemi_mail_size(m->mark);
    r->is_long = (m->mark & SHMEMI_MAIL_KIND) == SHMEMI_MAIL_REQUEST;
    if (r->size > r->capacity) {
        r->outcome = TOO_SHORT;
        return true;
    }
    if (r->is_long) {
        memcpy(&r->request, m->bytes, sizeof r->request);
        r->send = m->send;
    } else if (r->size > 0) {
        shmemi_move(r->buf, m->bytes, r->size, r->call);
    }
    shmemi_mail_remove(m);
    in->head = shmemi_mail_release(box, in->head, ring);
    if (shmemi_mail_worth(in->head - in->returned, ring)) {
        r->credit = in->head - in->returned;
        in->returned = in->head;
    }
    r->outcome = RECEIVED;
    return true;
}

/* Searches the mailboxes of all senders for a message, as find_from does for one sender: round
 * robin, beginning after the sender that was served last. It skips PEs that have never sent a
 * message to this one: active has a bit for each PE, which its first message sets. The caller has
 * acquired `lock`. */
static bool find_from_any(struct receipt *r)
{
    uint32_t n = shmemi_state.n_pes;
    const uint64_t *active = shmemi_mail_here(-(int64_t)shmemi_state.active_offset);
    for (uint32_t k = 0, pe = first; k < n; k++, pe = pe + 1 < n ? pe + 1 : 0) {
        uint64_t bits = shmemi_read_once(&active[pe / 64]) >> (pe % 64);
        if (bits == 0) { /* no later PE in this word has ever sent a message */
            uint32_t skip = 63 - pe % 64;
            if (pe + skip >= n)
                skip = n - 1 - pe;
            k += skip;
            pe += skip;
        } else if ((bits & 1) && find_from(r, (int)pe)) {
            first = pe + 1 < n ? pe + 1 : 0;
            return true;
        }
    }
    return false;
}

/* Searches the mailboxes for a message that the call accepts, and returns true if there is one,
 * also one that is too long; the condition of a receive's wait. */
static bool find_message(void *subject)
{
    struct receipt *r = subject;
    r->others = 0;
    pthread_mutex_lock(&lock);
    bool found = r->pe == SHMEMX_ANY_SOURCE ? find_from_any(r) : find_from(r, r->pe);
    pthread_mutex_unlock(&lock);
    return found;
}

/* --------------------------------------------------------------- long messages */

/* A long message that its sender writes to this PE, in parts. */
struct writing {
    struct receipt *r;
    int landing; /* the landing (bounce buffer), whose signal words are used in either case */
    bool lands;  /* the parts go through the landing; else directly to the program's buffer */
    uint64_t part_bytes;
    uint64_t number; /* the value of the signal word when part 0 has arrived; part k: number + k */
    uint64_t k;      /* the part for which this PE waits */
};

/* For the hang report: says which bytes of which message are missing. */
static void describe_bytes(const void *subject, char *text, size_t size)
{
    const struct writing *w = subject;
    const struct receipt *r = w->r;
    snprintf(text, size,
             "for the bytes from %" PRIu64 " on of %" PRIu64 " of the message with tag %d of PE %d",
             w->k * w->part_bytes, r->size, r->found_tag, r->sender);
}

/* Waits until ready(w), without the time limit of the thread (.limited): only the sender's library
 * has to act, and not its program. Returns false if the sender is lost. */
static bool await_ready(struct writing *w, bool (*ready)(void *))
{
    struct shmemi_send_wait wait = {.ready = ready,
                                    .describe = describe_bytes,
                                    .subject = w,
                                    .pe = w->r->sender,
                                    .call = w->r->call};
    return shmemi_send_await(&wait);
}

/* Claims a free landing: a bounce buffer to which the sender writes parts of a long message.
 * Returns false if none is free. */
static bool claim_landing(void *subject)
{
    struct writing *w = subject;
    for (int i = 0; i < SHMEMI_LANDINGS; i++)
        if (!(shmemi_acquire_bits(&landings.used, 1u << i) & 1u << i)) {
            w->landing = i;
            return true;
        }
    return false;
}

/* Releases a landing (bounce buffer for long messages). */
static void release_landing(int l)
{
    shmemi_release_bits(&landings.used, 1u << l);
    shmemi_notify(shmemi_state.my_pe); /* another thread may wait for it */
}

/* Returns the offset of the signal words of landing l, the l-th bounce buffer for long messages.
 * The sender sets a word when it has written a part. */
static int64_t words_of(int l)
{
    return (int64_t)sizeof(struct words) * l - (int64_t)shmemi_state.landings_offset;
}

/* Returns the offset of the buffer of landing l, the l-th bounce buffer for long messages. The
 * buffers come after the signal words of all landings. */
static int64_t memory_of(int l)
{
    return words_of(SHMEMI_LANDINGS) + (int64_t)SHMEMI_LANDING_BYTES * l;
}

/* Writes a reply to the sender of a long message: the number is written last, because the sender
 * polls it. */
static void send_reply(const struct receipt *r, struct shmemi_mail_clear *c)
{
    int64_t at = shmemi_mail_reply(r->send, c->number);
    const size_t head =
        sizeof c->number; /* the first member, which shmemi_mail_store writes last */
    shmemi_mail_store(r->sender, at + (int64_t)head, (char *)c + head, sizeof *c - head, at,
                      c->number, r->call);
}

/* Reads the bytes of a long message from the sender's symmetric memory, and replies that the sender
 * may reuse it. Returns false if the sender is lost. */
static bool read_bytes(struct receipt *r)
{
    int64_t source = r->request.source;
    const char *base = shmemi_reachable(r->sender, source);
    if (base != NULL)
        shmemi_move(r->buf, base + source, r->size, r->call);
    else if (!shmemi_net_do(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_GET,
                                                            .pe = r->sender,
                                                            .offset = source,
                                                            .nbytes = r->size,
                                                            .dest = r->buf,
                                                            .call = r->call}))
        return false;
    /* A reply without a place to write to: nothing more is requested. */
    struct shmemi_mail_clear c = {.number = r->request.number, .dest = SHMEMI_MAIL_PRIVATE};
    send_reply(r, &c);
    return true;
}

/* Returns the number of bytes of part k. */
static uint64_t bytes_of(const struct writing *w, uint64_t k)
{
    uint64_t rest = w->r->size - k * w->part_bytes;
    return rest < w->part_bytes ? rest : w->part_bytes;
}

/* Returns the offset at which the sender is to write part k. The halves of a landing (a bounce
 * buffer) alternate, so that one is filled while the other is copied. Without a landing the whole
 * message is part 0, and the sender writes it to the program's buffer. */
static int64_t dest_of(const struct writing *w, uint64_t k)
{
    return w->lands ? memory_of(w->landing) + (int64_t)(k & 1) * (SHMEMI_LANDING_BYTES / 2)
                    : shmemi_offset(w->r->buf);
}

/* Requests part k of a long message from its sender, which puts it into a half of a landing (a
 * bounce buffer), or directly into the receiver's buffer, and then sets the signal. */
static void request_part(const struct writing *w, uint64_t k)
{
    struct shmemi_mail_clear c = {.number = w->r->request.number + k,
                                  .dest = dest_of(w, k),
                                  .nbytes = bytes_of(w, k),
                                  .signal = words_of(w->landing) +
                                            (int64_t)(k & 1) * (int64_t)sizeof(uint64_t),
                                  .value = w->number + k};
    send_reply(w->r, &c);
}

/* Reports whether the sender has written part k. */
static bool part_has_arrived(void *subject)
{
    const struct writing *w = subject;
    const struct words *words = shmemi_mail_here(words_of(w->landing));
    return shmemi_observe(&words->arrived[w->k & 1]) == w->number + w->k;
}

/* Requests all parts from the sender, two at a time, waits for each, and copies it from the
 * landing, a bounce buffer. Returns false if the sender is lost. */
static bool receive_parts(struct writing *w)
{
    struct receipt *r = w->r;
    uint64_t parts = (r->size + w->part_bytes - 1) / w->part_bytes;
    w->number = shmemi_count(&landings.number, parts) - parts + 1; /* reserves a value for each */
    request_part(w, 0);
    if (parts > 1)
        request_part(w, 1);
    for (; w->k < parts; w->k++) {
        if (!await_ready(w, part_has_arrived))
            return false;
        if (w->lands)
            shmemi_move(r->buf + w->k * w->part_bytes, shmemi_mail_here(dest_of(w, w->k)),
                        bytes_of(w, w->k), r->call);
        if (w->k + 2 < parts)
            request_part(w, w->k + 2);
    }
    return true;
}

/* Gets the bytes of a long message, of which only the request has arrived: reads them from the
 * sender's symmetric memory, or else lets the sender write them. Returns false if the sender is
 * lost. */
static bool fetch_bytes(struct receipt *r)
{
    if (shmemi_is_lost(r->sender))
        return false;
    if (r->request.source != SHMEMI_MAIL_PRIVATE)
        return read_bytes(r);
    struct writing w = {.r = r, .lands = !shmemi_symmetric(r->buf, r->size)};
    w.part_bytes = w.lands ? SHMEMI_LANDING_BYTES / 2 : r->size;
    if (!await_ready(&w, claim_landing))
        return false;
    bool ok = receive_parts(&w);
    release_landing(w.landing);
    return ok;
}

/* -------------------------------------------------------------------- the calls */

/* Writes, for the report of a long wait, which message a receive waits for, and how many others are
 * there. */
static void describe(const void *subject, char *text, size_t size)
{
    const struct receipt *r = subject;
    char tag[32] = "any tag", pe[32] = "any PE";
    if (r->tag != SHMEMX_ANY_TAG)
        snprintf(tag, sizeof tag, "tag %d", r->tag);
    if (r->pe != SHMEMX_ANY_SOURCE)
        snprintf(pe, sizeof pe, "PE %d", r->pe);
    snprintf(text, size, "for a message with %s of %s; %u with other tags are there", tag, pe,
             r->others);
}

/* Returns the state of a receive call, after a check of its arguments. tag and pe may be NULL, for
 * any tag and any sender. */
static struct receipt receipt_of(void *buf, size_t capacity, const int *tag, const int *pe,
                                 const char *call)
{
    struct receipt r = {.buf = buf,
                        .capacity = capacity,
                        .tag = tag != NULL ? *tag : SHMEMX_ANY_TAG,
                        .pe = pe != NULL ? *pe : SHMEMX_ANY_SOURCE,
                        .call = call};
    shmemi_check_pe(r.pe == SHMEMX_ANY_SOURCE ? 0 : r.pe, call);
    if (SHMEMI_UNLIKELY(r.tag < 0 && r.tag != SHMEMX_ANY_TAG))
        shmemi_abort(call, "use 0 to 2^31 - 1, or SHMEMX_ANY_TAG", "tag %d is out of range", r.tag);
    if (SHMEMI_UNLIKELY(buf == NULL && capacity > 0))
        shmemi_abort(call, "pass memory of this PE", "buf is NULL, with a capacity of %zu bytes",
                     capacity);
    return r;
}

/* Adds the bytes of the mailbox that are free again to the sender's credit. If the sender is lost,
 * this reports no failure: the sender needs no credit, and the call has its message. */
static void return_credit(const struct receipt *r)
{
    if (r->credit == 0 || shmemi_is_lost(r->sender))
        return;
    shmemi_mute(true);
    shmemi_mail_apply(r->sender, shmemi_mail_credit(shmemi_state.my_pe), SHMEMI_AMO_ADD, r->credit,
                      r->call);
    shmemi_mute(false);
}

/* Completes a call that has found a message: returns credit, fetches the bytes of a long message,
 * and stores tag, sender and size for the program. Returns false if the call has failed, because
 * the sender is lost or the buffer is too short. */
static bool complete_receive(struct receipt *r, int *tag, int *pe, size_t *nbytes)
{
    return_credit(r);
    if (r->outcome == RECEIVED && r->is_long && !fetch_bytes(r)) {
        shmemi_refuse_lost(r->sender, r->call);
        return false;
    }
    if (tag != NULL)
        *tag = r->found_tag;
    if (pe != NULL)
        *pe = r->sender;
    if (nbytes != NULL)
        *nbytes = r->size;
    if (r->outcome == RECEIVED)
        return true;
    char text[200];
    snprintf(text, sizeof text,
             "the message with tag %d of PE %d has %" PRIu64 " bytes, and the buffer has %zu (pass "
             "a larger one: the message can still be received)",
             r->found_tag, r->sender, r->size, r->capacity);
    shmemi_fail_message(r->sender, text, r->call);
    return false;
}

/* Called when a receive has found no message: if a loss ends the receive, searches once more, since
 * a PE may be lost after its last message has arrived, and messages of other PEs may have arrived
 * with the loss. Fails the call if there is no message then. Returns whether there is one; the loss
 * then ends the thread's next receive without one. */
static bool find_despite_loss(struct receipt *r)
{
    if (!shmemi_send_ended(r->pe))
        return false;
    if (find_message(r))
        return true;
    shmemi_fail_lost(r->pe == SHMEMX_ANY_SOURCE ? shmemi_ending_loss(SHMEMI_ANY_SENDER) : r->pe,
                     r->call);
    return false;
}

/* Implements shmemx_recv: waits for a message with the tag and sender that the call accepts. */
int shmemi_recv(void *buf, size_t capacity, int *tag, int *pe, size_t *nbytes, const char *call)
{
    struct receipt r = receipt_of(buf, capacity, tag, pe, call);
    struct shmemi_send_wait w = {.ready = find_message,
                                 .describe = describe,
                                 .subject = &r,
                                 .pe = r.pe,
                                 .limited = true,
                                 .call = call};
    bool found = shmemi_send_await(&w);
    if (!found)
        found = find_despite_loss(&r);
    return found && complete_receive(&r, tag, pe, nbytes) ? 0 : -1;
}

/* Implements shmemx_recv_test: returns 1 if it has received a message, 0 if there is none, and -1
 * if it failed. A search without result polls the network once and searches again. */
int shmemi_recv_test(void *buf, size_t capacity, int *tag, int *pe, size_t *nbytes,
                     const char *call)
{
    struct receipt r = receipt_of(buf, capacity, tag, pe, call);
    bool found = find_message(&r);
    if (!found) {
        if (shmemi_state.networked)
            shmemi_net_poll(call);
        shmemi_send_progress(call);
        if (shmemi_send_ended(r.pe)) {
            if (!find_despite_loss(&r))
                return -1;
        } else if (!find_message(&r)) {
            return 0;
        }
    }
    return complete_receive(&r, tag, pe, nbytes) ? 1 : -1;
}
