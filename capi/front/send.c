/*
 * send.c: the senders of two-sided messages (mail.h).
 *
 * A sender reserves the place of a record in its mailbox at the receiver by an atomic operation, so
 * that threads do not wait for each other, and messages of one thread are in program order. A short
 * message needs nothing more. A long one has an entry of a small table until its bytes are sent. If
 * its call returns before that (shmemx_send_test), the next call with the same arguments continues;
 * meanwhile other calls that wait serve the requests of its receiver. So two PEs may each send to
 * the other and then receive.
 */
#define _GNU_SOURCE
#include "send.h"

#include "address.h"
#include "error.h"
#include "failure.h"
#include "gpu.h"
#include "netcall.h"
#include "notify.h"
#include "quiet.h"
#include "remote.h"
#include "wait.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* A long message. Its receiver replies to the request to send with the address to which the bytes
 * are to be written. */
struct outgoing {
    /* These three change under lock. */
    bool used;
    bool driven; /* the program's call that sends this message is running, in some thread */
    bool helped; /* a call for another message sends bytes of this one */
    /* Only the thread that has set driven or helped writes the following fields. */
    bool requested; /* the request to send is posted */
    bool failed;    /* a call for another message could not send the bytes */
    int tag, pe;    /* of the message, and its receiver */
    const char *buf;
    size_t nbytes, done; /* how many bytes it has, and how many are sent */
    uint64_t next;       /* number of the next reply; not reset for later messages of the entry */
};

/* The table of long messages. Receivers name an entry by its index. */
static struct outgoing outgoing[SHMEMI_MAIL_SENDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table of long messages */
static uint32_t undriven; /* entries in use whose send call has returned; changed under lock */

static uint64_t *sent; /* for each receiver, how many bytes of the mailbox were ever reserved */

/* At init: clears the table of long messages, whose replies are numbered from 1 on, and allocates
 * `sent`. Returns false if there is no memory. */
bool shmemi_send_open(void)
{
    memset(outgoing, 0, sizeof outgoing);
    undriven = 0;
    for (int i = 0; i < SHMEMI_MAIL_SENDS; i++)
        outgoing[i].next = 1;
    sent = calloc(shmemi_state.n_pes, sizeof *sent);
    return sent != NULL;
}

/* At finalize: frees the state of the senders. */
void shmemi_send_close(void)
{
    free(sent);
    sent = NULL;
}

/* ------------------------------------------------- replies of the receivers */

/* Returns the address at which the next reply of a long message's receiver arrives. */
static struct shmemi_mail_clear *reply_of(const struct outgoing *o)
{
    return shmemi_mail_here(shmemi_mail_reply((uint32_t)(o - outgoing), o->next));
}

/* Reports whether the receiver's next reply has arrived. */
static bool has_reply(const struct outgoing *o)
{
    return shmemi_observe(&reply_of(o)->number) == o->next;
}

/* Writes bytes to the address in the receiver's reply, and then the signal word that the receiver
 * polls. Returns false if the receiver is lost. */
static bool write_part(int pe, const struct shmemi_mail_clear *c, const char *bytes,
                       const char *call)
{
    /* This process stores the signal word at control, and copies the bytes to base; NULL: it
     * cannot. */
    char *control = shmemi_state.peer_base[pe], *base = shmemi_reachable(pe, c->dest);
    struct shmemi_host_operation o = {.kind = SHMEMI_OPERATION_PUT_SIGNAL,
                                      .pe = pe,
                                      .offset = c->dest,
                                      .nbytes = c->nbytes,
                                      .source = bytes,
                                      .signal_offset = c->signal,
                                      .operand = c->value,
                                      .op = SHMEMI_AMO_SET,
                                      .call = call};
    if (control == NULL)
        return shmemi_net_do(&o);
    if (base != NULL) {
        shmemi_move(base + c->dest, bytes, c->nbytes, call);
    } else { /* memory of a GPU that this process does not map */
        o.kind = SHMEMI_OPERATION_PUT;
        if (!shmemi_net_do(&o))
            return false;
        shmemi_quiet_slow(SHMEM_CTX_DEFAULT, call);
    }
    shmemi_publish((uint64_t *)(void *)(control + c->signal), c->value);
    shmemi_notify(pe);
    return true;
}

/* Handles the next reply of a receiver: writes the part of the message that it requests, or records
 * that the receiver has read all bytes itself. Returns false if the receiver is lost. */
static bool serve_receiver(struct outgoing *o, const char *call)
{
    struct shmemi_mail_clear c = *reply_of(o);
    if (c.dest == SHMEMI_MAIL_PRIVATE)
        c.nbytes = o->nbytes - o->done;
    else if (c.nbytes > o->nbytes - o->done)
        shmemi_abort(call, "look for writes past the end of symmetric memory, on any PE",
                     "PE %d asks for %" PRIu64 " bytes of a message that has %zu", o->pe, c.nbytes,
                     o->nbytes - o->done);
    else if (!write_part(o->pe, &c, o->buf + o->done, call))
        return false;
    o->next++;
    o->done += c.nbytes;
    return true;
}

/* Returns the first long message whose receiver has replied while no call is sending it. The caller
 * has acquired `lock`. */
static struct outgoing *first_due(void)
{
    for (int i = 0; i < SHMEMI_MAIL_SENDS; i++) {
        struct outgoing *o = &outgoing[i];
        if (o->used && !o->driven && !o->helped && o->requested && !o->failed &&
            o->done < o->nbytes && !shmemi_is_lost(o->pe) && has_reply(o))
            return o;
    }
    return NULL;
}

/* Reports whether the receiver of some long message waits for bytes while no call is sending it.
 * Most calls only check one count, without the lock. */
static bool is_due(void)
{
    if (SHMEMI_LIKELY(shmemi_read_once(&undriven) == 0))
        return false;
    pthread_mutex_lock(&lock);
    bool due = first_due() != NULL;
    pthread_mutex_unlock(&lock);
    return due;
}

/* Serves the receiver of a long message whose own send call has returned (shmemx_send_test), within
 * a call for another message. If the bytes cannot be sent, that message's next call reports it. */
static void serve_other(const char *call)
{
    pthread_mutex_lock(&lock);
    struct outgoing *o = first_due();
    if (o != NULL)
        o->helped = true;
    pthread_mutex_unlock(&lock);
    if (o == NULL)
        return;
    shmemi_mute(true); /* the call for that message reports a loss */
    o->failed = !serve_receiver(o, call);
    shmemi_mute(false);
    pthread_mutex_lock(&lock);
    o->helped = false;
    pthread_mutex_unlock(&lock);
    shmemi_notify(shmemi_state.my_pe); /* that call may wait for the entry */
}

/* Waits until w->ready(w->subject). Meanwhile it serves requests of receivers, so that two PEs that
 * send to each other both make progress. Returns false if the PE is lost, or the time limit has
 * passed. */
bool shmemi_send_await(const struct shmemi_send_wait *w)
{
    bool ready = w->ready(w->subject), due = false; /* due: a receiver waits for bytes */
    if (ready)
        return true;
    do {
        SHMEMI_WAIT_FOR(shmemi_my_ctl(), w->call, w->describe, w->subject,
                        (ready = w->ready(w->subject)) || (due = is_due()) ||
                            shmemi_send_ended(w->pe),
                        .whom = SHMEMI_NOBODY, .pe = w->pe, .about = w->pe != SHMEMI_MAIL_ANY,
                        .limited = w->limited);
        if (!ready && due)
            serve_other(w->call);
    } while (!ready && due);
    return ready;
}

/* Serves the receiver of one long message, if one has replied and no call sends that message. */
void shmemi_send_progress(const char *call)
{
    if (is_due())
        serve_other(call);
}

/* ------------------------------------------------------------- waiting for room */

/* A send call, and what it waits for. */
struct sending {
    const char *buf;
    size_t nbytes;
    int tag, pe;
    bool waits; /* shmemx_send; else shmemx_send_test, which returns instead of waiting */
    const char *call;
    struct outgoing *o;
    uint64_t mark, at; /* the record's first word, 0 before it is known; its place in the mailbox */
};

enum { NOT_YET, SENT }; /* results of a send, in addition to SHMEMI_FAILED */

/* For the hang report: says whether the send lacks credit, a free entry or a reply. */
static void describe(const void *subject, char *text, size_t size)
{
    const struct sending *s = subject;
    if (s->mark == 0) /* send_long sets it when it has claimed an entry */
        snprintf(text, size,
                 "for one of %d long messages to be sent, before one of %zu bytes to PE %d",
                 SHMEMI_MAIL_SENDS, s->nbytes, s->pe);
    else if (s->o == NULL || !s->o->requested)
        snprintf(
            text, size,
            "for room for a message with tag %d of %zu bytes at PE %d, which has received too few",
            s->tag, s->nbytes, s->pe);
    else
        snprintf(text, size,
                 "for a receive of the message with tag %d, of which %zu of %zu bytes are sent, by "
                 "PE %d",
                 s->tag, s->o->done, s->nbytes, s->pe);
}

/* In shmemx_send, waits until ready(s) returns true; in shmemx_send_test, checks that, polls the
 * network once if it does not hold, and checks again. Returns false if the PE is lost, or the call
 * has to return without having sent the message. */
static bool await_ready(struct sending *s, bool (*ready)(void *))
{
    struct shmemi_send_wait w = {ready, describe, s, s->pe, /* limited */ true, s->call};
    if (s->waits)
        return shmemi_send_await(&w);
    if (ready(s))
        return true;
    if (shmemi_state.networked)
        shmemi_net_poll(s->call);
    shmemi_send_progress(s->call);
    return ready(s);
}

/* Returns the result of a call that returns without having sent its message: SHMEMI_FAILED if the
 * receiver is lost or shmemx_send's time limit has passed, NOT_YET for shmemx_send_test. */
static int unsent_result(const struct sending *s)
{
    if (shmemi_refuse_lost(s->pe, s->call))
        return SHMEMI_FAILED;
    return s->waits ? SHMEMI_FAILED : NOT_YET;
}

/* ---------------------------------------------------------------- the mailbox */

/* Reserves the place of a record in this PE's mailbox at the receiver, if the bytes that the
 * receiver has freed (credit) suffice. If they do not, it reserves nothing, and returns false. */
static bool try_reserve(void *subject)
{
    struct sending *s = subject;
    uint32_t ring = shmemi_state.mailbox_size, span = shmemi_mail_span(s->mark, ring);
    const uint64_t *credit = shmemi_mail_here(shmemi_mail_credit(s->pe));
    uint64_t *bytes = &sent[s->pe];
    s->at = shmemi_read_once(bytes);
    do {
        if (!shmemi_mail_fits(s->at, shmemi_observe(credit), span, ring))
            return false;
    } while (!shmemi_reserve(bytes, &s->at, s->at + span));
    return true;
}

/* Sets this PE's bit at the receiver, so that the receiver searches this PE's mailbox from now on.
 */
static void announce_sender(int pe, const char *call)
{
    int me = shmemi_state.my_pe;
    int64_t word = (int64_t)sizeof(uint64_t) * (me / 64) - (int64_t)shmemi_state.active_offset;
    shmemi_mail_apply(pe, word, SHMEMI_AMO_OR, (uint64_t)1 << (me % 64), call);
}

/* Writes the record at its reserved place in the receiver's mailbox: tag, bytes, and last the mark,
 * which makes the record visible to the receiver. entry is the number of a long message in the
 * table `outgoing`, by which the receiver finds the place for its replies; it is 0 for a short
 * message, which gets no reply. With its first record this PE announces itself to the receiver: a
 * receive from any PE searches only the mailboxes of PEs that have done so. */
static void post_record(const struct sending *s, uint32_t entry, const void *bytes)
{
    size_t n = shmemi_mail_bytes(s->mark) - sizeof(struct shmemi_mail);
    int64_t offset = shmemi_mailbox(shmemi_state.my_pe) +
                     (int64_t)shmemi_mail_place(s->at, shmemi_state.mailbox_size);
    char *base = shmemi_state.peer_base[s->pe];
    _Alignas(struct shmemi_mail) char image[SHMEMI_MAIL_RECORD];
    char *at = base != NULL ? base + offset : image;
    struct shmemi_mail *m = (struct shmemi_mail *)(void *)at;
    m->tag = s->tag;
    m->send = entry;
    if (n > 0)
        shmemi_move(m->bytes, bytes, n, s->call);
    if (base != NULL) {
        shmemi_publish(&m->mark, s->mark);
        shmemi_notify(s->pe);
    } else {
        size_t head = sizeof m->mark;
        shmemi_mail_store(s->pe, offset + (int64_t)head, at + head, sizeof *m - head + n, offset,
                          s->mark, s->call);
    }
    if (s->at == 0)
        announce_sender(s->pe, s->call);
}

/* --------------------------------------------------------------- long messages */

/* Reports whether the long message o of the table has the arguments of this send call, which then
 * continues it. */
static bool is_same(const struct outgoing *o, const struct sending *s)
{
    return o->buf == s->buf && o->nbytes == s->nbytes && o->tag == s->tag && o->pe == s->pe;
}

/* Claims an entry of the table of long messages: that of the same message, if an earlier call with
 * the same arguments has returned before its bytes were sent, else a free entry. Returns false if
 * no entry is free, or if another call is sending that message now. */
static bool claim_entry(void *subject)
{
    struct sending *s = subject;
    struct outgoing *o = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SHMEMI_MAIL_SENDS; i++) {
        struct outgoing *entry = &outgoing[i];
        if (entry->used && !entry->driven && is_same(entry, s)) {
            o = entry->helped ? NULL : entry;
            break;
        }
        if (!entry->used && o == NULL)
            o = entry;
    }
    if (o != NULL && o->used)
        shmemi_count(&undriven, -1);
    else if (o != NULL)
        *o = (struct outgoing){.used = true,
                               .tag = s->tag,
                               .pe = s->pe,
                               .buf = s->buf,
                               .nbytes = s->nbytes,
                               .next = o->next};
    if (o != NULL)
        o->driven = true;
    pthread_mutex_unlock(&lock);
    s->o = o;
    return o != NULL;
}

/* Called when a send call returns: ends its work on its long message, and frees the message's
 * entry. If frees is false, the entry stays for the next call with the same arguments. */
static void end_call(struct outgoing *o, bool frees)
{
    pthread_mutex_lock(&lock);
    o->driven = false;
    o->used = !frees;
    if (!frees)
        shmemi_count(&undriven, 1);
    pthread_mutex_unlock(&lock);
    if (frees)
        shmemi_notify(shmemi_state.my_pe); /* another thread may wait for an entry */
}

/* Frees the entry of a message whose receiver is lost. A late reply must not be mistaken for one to
 * the next message in this entry, so the numbers of all replies that this message can get are
 * passed over. There is at most one for each part, and all parts but the last have at least half
 * of a landing, so 2 more than the quotient is enough. */
static void free_lost(struct outgoing *o)
{
    o->next += 2 + o->nbytes / (SHMEMI_LANDING_BYTES / 2);
    end_call(o, /* frees */ true);
}

/* Reports whether the receiver of this call's message has replied. */
static bool reply_has_arrived(void *subject)
{
    const struct sending *s = subject;
    return has_reply(s->o);
}

/* Posts the request to send of a long message: a record with its size and, if its bytes are in
 * symmetric memory, their address, from which the receiver then reads them itself. Returns false if
 * the mailbox has no room for the record, or the PE is lost. */
static bool post_request(struct sending *s)
{
    struct outgoing *o = s->o;
    if (!await_ready(s, try_reserve))
        return false;
    struct shmemi_mail_request r = {SHMEMI_MAIL_PRIVATE, o->next};
    if (shmemi_symmetric(o->buf, o->nbytes))
        r.source = shmemi_offset(o->buf);
    post_record(s, (uint32_t)(o - outgoing), &r);
    o->requested = true;
    return true;
}

/* Sends a message that is too long for a record: posts a request to send, and writes the parts that
 * the receiver's replies request. If the call has to return while a reply is due (shmemx_send_test,
 * or shmemx_send after the thread's time limit), the message's entry in the table stays, and the
 * next call with the same arguments continues. */
static int send_long(struct sending *s)
{
    if (!await_ready(s, claim_entry))
        return unsent_result(s);
    struct outgoing *o = s->o;
    s->mark = shmemi_mail_mark(SHMEMI_MAIL_REQUEST, s->nbytes);
    while (!shmemi_is_lost(s->pe)) {
        if (o->failed) {
            free_lost(o);
            shmemi_fail_network(s->pe, s->call);
            return SHMEMI_FAILED;
        }
        if (o->done == o->nbytes) {
            end_call(o, /* frees */ true);
            return SENT;
        }
        if (o->requested ? !await_ready(s, reply_has_arrived) : !post_request(s)) {
            if (shmemi_is_lost(s->pe))
                break;
            end_call(o, !o->requested); /* without a request nobody knows of the message */
            return unsent_result(s);
        }
        if (o->requested && has_reply(o) && !serve_receiver(o, s->call)) {
            free_lost(o);
            return SHMEMI_FAILED;
        }
    }
    free_lost(o);
    return unsent_result(s);
}

/* -------------------------------------------------------------------- the calls */

/* Ends the job if the arguments of a send are wrong. */
static void check_send(const struct sending *s)
{
    shmemi_check_pe(s->pe, s->call);
    if (SHMEMI_UNLIKELY(s->tag < 0))
        shmemi_abort(s->call, "use 0 to 2^31 - 1", "tag %d is out of range", s->tag);
    if (SHMEMI_UNLIKELY(s->nbytes > SHMEMI_MAIL_LONGEST))
        shmemi_abort(s->call, "check the size, and send it in parts",
                     "a message cannot have %zu bytes, 2^48 - 1 is the most", s->nbytes);
    if (SHMEMI_UNLIKELY(s->buf == NULL && s->nbytes > 0))
        shmemi_abort(s->call, "pass memory of this PE", "buf is NULL, with %zu bytes", s->nbytes);
}

/* Sends the message of a call, short or long. Returns SENT, NOT_YET (shmemx_send_test only), or
 * SHMEMI_FAILED. */
static int serve_send(struct sending *s)
{
    check_send(s);
    if (s->nbytes > shmemi_mail_short(shmemi_state.mailbox_size))
        return send_long(s);
    if (shmemi_refuse_lost(s->pe, s->call))
        return SHMEMI_FAILED;
    s->mark = shmemi_mail_mark(SHMEMI_MAIL_WHOLE, s->nbytes);
    if (!await_ready(s, try_reserve))
        return unsent_result(s);
    post_record(s, /* entry */ 0, s->buf);
    return SENT;
}

/* Implements shmemx_send: waits until buf may be reused. Returns 0, or SHMEMI_FAILED if the
 * receiver is lost. */
int shmemi_send(const void *buf, size_t nbytes, int tag, int pe, const char *call)
{
    struct sending s = {
        .buf = buf, .nbytes = nbytes, .tag = tag, .pe = pe, .waits = true, .call = call};
    return serve_send(&s) == SENT ? 0 : SHMEMI_FAILED;
}

/* Implements shmemx_send_test, which does what shmemx_send does as far as that needs no wait. */
int shmemi_send_test(const void *buf, size_t nbytes, int tag, int pe, const char *call)
{
    struct sending s = {.buf = buf, .nbytes = nbytes, .tag = tag, .pe = pe, .call = call};
    return serve_send(&s);
}
