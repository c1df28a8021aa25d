/*
 * done.c: how operations complete: completions, errors, and the provider's use of the caller's
 * context until then. Names such as R7b are rows of rules.tsv: rule reports whether one holds for
 * this provider and version.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <string.h>

enum { FULL_NS = 20000 }; /* until an operation tries a full completion queue again */

static const struct {
    int status;
    enum rule_id error_rule;  /* whose value is libfabric's error for the status */
    enum rule_id status_rule; /* without which efa reports 0 as prov_errno; RULES: none */
    const char *text;
} statuses[] = {
    {STATUS_FLUSHED, R15o, RULES, "Flushed: the queue pair was closed"},
    {STATUS_FLUSHED, R15q, RULES, "Flushed: the queue pair was closed"},
    {STATUS_SICK, R15f, R15h, "Internal queue pair error (local)"},
    {STATUS_NO_HANDLE, R15f, R15i, "Invalid address handle (local)"},
    {STATUS_BAD_ADDRESS, R15f, R15g,
     "Remote key (RKEY) not registered or does not match remote IOVA"},
    {STATUS_BAD_QPN, R15d, R15j,
     "Bad queue pair (QP) number (QP does not exist or is in error state)"},
    {STATUS_SILENT, R15c, R15k, "Unresponsive remote (was previously responsive)"},
    {STATUS_UNKNOWN, R4, R15n,
     "No valid address handle at remote side (required for RDMA operations)"},
    {STATUS_NEVER, R15e, R15m, "Unreachable remote (never received a response)"},
    {STATUS_SILENT_PEER, R15c, R15l, "Unresponsive receiver (connection previously established)"},
    {STATUS_NO_HANDSHAKE, R15c, R15l,
     "Unresponsive receiver (reachable by EFA device but handshake failed)"},
};

enum { STATUSES = sizeof statuses / sizeof statuses[0] };

/* Returns the text of a device's status, as fi_cq_strerror does. */
const char *status_text(enum kind kind, int status)
{
    (void)kind;
    for (int i = 0; i < STATUSES; i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "Unknown error";
}

/* Returns libfabric's error for a status of the device: the value of the status's rule in rules.tsv
 * if the rule applies, else FI_EIO. */
int error_of(struct ep *ep, int status)
{
    for (int i = 0; i < STATUSES; i++)
        if (statuses[i].status == status &&
            rule(&ep->domain->fabric->set, ep->domain->kind, statuses[i].error_rule))
            return (int)rule_value(statuses[i].error_rule);
    return FI_EIO;
}

/* Returns the prov_errno of a completion: the device's status, or 0 where efa hides it, because the
 * status has a row in rules.tsv (status_rule) that does not hold. */
int reported_status(struct ep *ep, int status)
{
    const struct settings *s = &ep->domain->fabric->set;
    for (int i = 0; i < STATUSES; i++)
        if (statuses[i].status == status && s->provider == EFA &&
            statuses[i].status_rule != RULES && !rule(s, ep->domain->kind, statuses[i].status_rule))
            return 0;
    return status;
}

/* Returns how many bytes of an operation's context the provider overwrites: its own data
 * (rules.tsv: R7a), or all of the context (rules.tsv: R7c). */
size_t scribbled(const struct ep *ep)
{
    const bool all = rule(&ep->domain->fabric->set, ep->domain->kind, R7c);
    return (size_t)rule_value(all ? R7c : R7a);
}

/*
 * Reports whether the NIC has broken. Then peers find no queue pair there, and operations under way
 * fail, even if their bytes have arrived.
 */
bool nic_broken(struct ep *ep)
{
    const struct settings *s = &ep->domain->fabric->set;
    if (s->all_fail)
        return true;
    if (s->dies_at == 0 || ep->domain->nic != FIRST_BUS + s->dies || ep->numbers < s->dies_at)
        return false;
    ep->map->w->state = WIRE_CLOSED;
    return true;
}

/* Overwrites an operation's context as the provider does (rules.tsv: R7), and keeps the bytes to
 * check later that the caller has not changed them. */
void scribble(struct ep *ep, struct op *op)
{
    if (op->context == NULL || !rule(&ep->domain->fabric->set, ep->domain->kind, R7a))
        return;
    for (size_t i = 0; i < sizeof op->scribble; i += 8) {
        uint64_t word = op->token ^ (uint64_t)(uintptr_t)op->context ^ i;
        memcpy(op->scribble + i, &word, 8);
    }
    memcpy(op->context, op->scribble, scribbled(ep));
}

/* Ends the process if the caller has changed the provider's bytes in an operation's context. */
static void check_scribble(struct ep *ep, struct op *op)
{
    if (op->context == NULL || !rule(&ep->domain->fabric->set, ep->domain->kind, R7a))
        return;
    if (memcmp(op->context, op->scribble, (size_t)rule_value(R7a)) != 0)
        die(R7a, "the context of an operation was changed before its completion");
}

/*
 * Puts the completion of an operation of this endpoint into its queue. If the device's queue is
 * full, an EFA device loses the completion, and others return false: the operation has to wait.
 */
static bool complete(struct ep *ep, struct completion *c)
{
    struct wire *w = ep->map->w;
    if (!wire_reserve_entry(w)) {
        if (ep->domain->kind > KIND_DIRECT)
            return false;
        atomic_fetch_add(&w->cq_lost, 1);
        return true;
    }
    c->counted = w;
    c->source = FI_ADDR_NOTAVAIL;
    cq_push(ep->tx, c);
    return true;
}

/* Completes an operation without an error, or makes it wait for room in the queue. */
void op_done(struct ep *ep, struct op *op)
{
    struct completion c = {.context = op->context, .flags = op->flags, .len = op->len};
    /* R7b in rules.tsv: efa-direct reports no completion of an operation without a context. */
    const bool silent = op->inject || (op->context == NULL &&
                                       rule(&ep->domain->fabric->set, ep->domain->kind, R7b));
    if (!op->internal && !silent) {
        check_scribble(ep, op);
        if (!complete(ep, &c)) {
            op_wait(ep, op, FULL_NS);
            return;
        }
    }
    op_drop(ep, op);
}

/* Reports whether an injected operation fails without a completion, which would have no context to
 * name it: verbs reports no error of an injected message (rule R15s), and other providers report
 * one unless the rule for it is off (R15a, R15b, R15r). */
static bool fails_silently(const struct settings *s, enum kind kind, const struct op *op)
{
    if (!op->inject)
        return false;
    if (s->provider == VERBS)
        return op->kind == OP_SEND && rule(s, kind, R15s);
    return !rule(s, kind, R15a) && !rule(s, kind, R15b) && !rule(s, kind, R15r);
}

/* Completes an operation with the error of a status, or makes it wait for room in the queue. An
 * operation of the provider itself has no completion: efa reports its error in the event queue. */
void op_fail(struct ep *ep, struct op *op, int status)
{
    const struct settings *s = &ep->domain->fabric->set;
    const enum kind kind = ep->domain->kind;
    const int err = error_of(ep, status);
    struct completion c = {.context = op->inject ? NULL : op->context,
                           .flags = op->flags,
                           .err = err,
                           .status = reported_status(ep, status)};
    if (op->internal) {
        const bool is_reply = op->record.kind != RECORD_HELLO;
        op_drop(ep, op);
        /* A reply to a peer that has gone since is not an error (rules.tsv: R9). */
        if (kind == KIND_EFA && !(is_reply && status == STATUS_BAD_QPN))
            eq_error(ep, err, status);
        return;
    }
    if (!op->inject)
        check_scribble(ep, op);
    if (!fails_silently(s, kind, op) && !complete(ep, &c)) {
        op_wait(ep, op, FULL_NS);
        return;
    }
    op_drop(ep, op);
}
