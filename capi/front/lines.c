/*
 * lines.c: small collectives of the PEs of a team that are on one node (lines.h).
 *
 * A PE may begin an exchange while another PE has yet to read its lines of the last exchange, but
 * not the lines of the exchange before the last. So there are two sets of lines.
 */
#include "lines.h"

#include "failure.h"
#include "notify.h"
#include "steps.h"
#include "team.h"
#include "wait.h"

#include <stdio.h>

/* A cache line with one contribution to an exchange. One PE writes it, and another reads it. */
struct line {
    _Alignas(SHMEMI_CACHE_LINE)
        uint64_t exchange; /* the exchange's number: stored after data, with release */
    char data[SHMEMI_LINE_DATA];
};
_Static_assert(sizeof(struct line) == SHMEMI_CACHE_LINE, "a line is one cache line");

/* How often a wait polls before it becomes an ordinary wait (wait.h). These polls take some .1 us,
 * in which most lines arrive. */
#define BARE_POLLS 32

/* One small collective, with what this PE needs for its part in it. */
struct exchange {
    struct shmemi_team *t;
    size_t nelems, bytes; /* elements and bytes of a contribution to a combination */
    int64_t dest;         /* the offset of the blocks that are collected */
    const struct shmemi_reducer *reducer;
    const struct shmemi_lines_report *report; /* of a long wait; NULL: by the lines that lack */
    const char *call;
    int64_t set;       /* the offset of the lines of this exchange */
    struct line *mine; /* the lines of this exchange that others write at this PE */
};

/* Returns the PE of the i-th member on this node. */
static int pe_of(const struct shmemi_team *t, uint32_t i)
{
    return t->pes[t->near[i]];
}

/* Returns the exchange that this PE has begun last in a team, with the addresses of its set of
 * lines (cache lines with a contribution each). The two sets alternate. */
static struct exchange present_exchange(struct shmemi_team *t, const char *call)
{
    struct exchange e = {.t = t, .call = call};
    e.set = t->lines + (int64_t)(t->line_exchanges % SHMEMI_LINE_SETS) * SHMEMI_LINES *
                           (int64_t)sizeof(struct line);
    e.mine = (struct line *)(void *)(shmemi_state.peer_base[shmemi_state.my_pe] + e.set);
    return e;
}

/* Begins the team's next exchange, and returns its description. It uses the other set of lines,
 * because a PE may still read the lines of the last exchange. */
static struct exchange begin_exchange(struct shmemi_team *t, const char *call)
{
    t->line_exchanges++;
    return present_exchange(t, call);
}

/* Writes line `number` (a cache line that holds one contribution) of the i-th member on this node:
 * the data first and then the exchange's number, which announces it. */
static void write_line(const struct exchange *e, uint32_t i, uint32_t number, const void *data,
                       size_t bytes)
{
    int pe = pe_of(e->t, i);
    struct line *to = (struct line *)(void *)(shmemi_state.peer_base[pe] + e->set) + number;
    if (bytes > 0)
        memcpy(to->data, data, bytes);
    shmemi_publish(&to->exchange, e->t->line_exchanges);
    shmemi_notify(pe);
}

/* Lines (cache lines with a contribution each) of this PE that it waits for, and the members of its
 * node that write them: every stride-th member from `first` on, except the one at position `me`,
 * which is this PE. */
struct awaited {
    const struct exchange *e;
    const struct line *lines; /* the first of the lines, which follow one another */
    uint64_t exchange;        /* the number that a line has when it is written */
    uint32_t n;               /* how many lines */
    uint32_t first, stride, me;
};

/* Reports whether the k-th of the awaited lines has been written: its sender stores the exchange's
 * number in it last. */
static bool has_arrived(const struct awaited *a, uint32_t k)
{
    return shmemi_observe(&a->lines[k].exchange) == a->exchange;
}

/* Reports whether all awaited lines have been written. It loads all of them, and does not stop at
 * the first one that is missing, so that the processor fetches the cache lines in parallel. */
SHMEMI_INLINE bool all_have_arrived(const struct awaited *a)
{
    bool all = true;
    for (uint32_t k = 0; k < a->n; k++)
        all &= has_arrived(a, k);
    return all;
}

/* Lists the members whose lines have not arrived, for the report of a wait; returns how many they
 * are. */
static int late_at_lines(const void *subject, int32_t *pes, int limit)
{
    const struct awaited *a = subject;
    int n = 0;
    for (uint32_t k = 0; k < a->n; k++)
        if (!has_arrived(a, k) && n++ < limit)
            pes[n - 1] = pe_of(a->e->t, a->first + (k + (k >= a->me)) * a->stride);
    return n;
}

/* For the hang report: lists the members that have not written their lines. */
static void describe_lines(const void *subject, char *text, size_t size)
{
    int32_t pes[8];
    int n = late_at_lines(subject, pes, 8);
    size_t used = (size_t)snprintf(text, size, "for the contribution of");
    for (int i = 0; i < n && i < 8 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " PE %d", pes[i]);
}

/* Waits until other members have written the lines of this PE that `a` describes, or a member is
 * lost. */
static void await_lines(const struct awaited *a)
{
    const struct shmemi_lines_report *r = a->e->report;
    for (int i = 0; i < BARE_POLLS; i++)
        if (all_have_arrived(a))
            return;
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), a->e->call, r != NULL ? r->describe : describe_lines,
                    r != NULL ? r->subject : a, all_have_arrived(a), .whom = SHMEMI_MEMBERS,
                    .late = r != NULL ? r->late : late_at_lines);
}

/* Waits for one line that a member writes, and returns its data. After the loss of a PE it returns
 * what the line has then: callers copy it, and send nothing more. */
static const void *await_one(const struct exchange *e, uint32_t member, uint32_t line)
{
    struct awaited a = {.e = e,
                        .lines = e->mine + line,
                        .exchange = e->t->line_exchanges,
                        .n = 1,
                        .first = member,
                        .me = 1}; /* after the only awaited member */
    await_lines(&a);
    return e->mine[line].data;
}

/* Combines a contribution `in` with acc, and stores the result in acc. Does nothing in a barrier,
 * which has no contributions. */
static void combine_with(const struct exchange *e, void *acc, const void *in)
{
    if (e->bytes > 0)
        e->reducer->combine(acc, in, e->nelems);
}

/* Returns the number of the line at member `to` of a group that member `from` writes; both are
 * positions in the group. */
static uint32_t line_of(const struct shmemi_step *step, uint32_t to, uint32_t from)
{
    return step->line + (from < to ? from : from - 1);
}

/* Waits until all other PEs of the group have written their lines (cache lines with a contribution)
 * at this PE. */
static void await_group(const struct exchange *e, const struct shmemi_step *step)
{
    struct awaited a = {.e = e,
                        .lines = e->mine + step->line,
                        .exchange = e->t->line_exchanges,
                        .n = step->size - 1u,
                        .first = step->first,
                        .stride = step->stride,
                        .me = step->digit};
    await_lines(&a);
}

/* Does one step of a combination: writes acc to the other PEs of the group, waits for their lines,
 * and combines all of them in the same order on each PE of the group, so that each has the same
 * result bit for bit. */
static void combine_group(const struct exchange *e, void *acc, const struct shmemi_step *step)
{
    uint32_t size = step->size, digit = step->digit;
    for (uint32_t k = 1, to = digit; k < size; k++) {
        to = to + 1 < size ? to + 1 : 0;
        write_line(e, step->first + to * step->stride, line_of(step, to, digit), acc, e->bytes);
    }
    await_group(e, step);
    if (e->bytes == 0)
        return;
    _Alignas(SHMEMI_CACHE_LINE) char my_data[SHMEMI_LINE_DATA];
    memcpy(my_data, acc, e->bytes);
    for (uint32_t d = 0; d < size; d++) {
        const void *in = d == digit ? my_data : e->mine[line_of(step, digit, d)].data;
        if (d == 0)
            memcpy(acc, in, e->bytes);
        else
            combine_with(e, acc, in);
    }
}

/* Combines the values of the PEs of a team on this node to acc, in steps among groups of PEs. The
 * steps need a number of PEs (whole) that splits into groups. A member beyond that number sends its
 * value to member me - whole, and gets the result from it at the end. */
void shmemi_lines_combine(struct shmemi_team *t, void *acc, size_t nelems,
                          const struct shmemi_reducer *reducer,
                          const struct shmemi_lines_report *report, const char *call)
{
    const struct shmemi_steps *steps = &t->steps;
    uint32_t me = t->near_rank, whole = steps->whole, beyond = me + whole;
    if (SHMEMI_UNLIKELY(!shmemi_collective_unbroken()))
        return;
    struct exchange e = begin_exchange(t, call);
    e.nelems = nelems;
    e.bytes = nelems > 0 ? nelems * reducer->size : 0;
    e.reducer = reducer;
    e.report = report;
    if (me >= whole) {
        write_line(&e, me - whole, SHMEMI_LINE_GIVEN, acc, e.bytes);
        memcpy(acc, await_one(&e, me - whole, SHMEMI_LINE_RESULT), e.bytes);
        return;
    }
    if (beyond < t->n_near)
        combine_with(&e, acc, await_one(&e, beyond, SHMEMI_LINE_GIVEN));
    for (uint32_t i = 0; i < steps->n && shmemi_collective_unbroken(); i++)
        combine_group(&e, acc, steps->step + i);
    if (beyond < t->n_near && shmemi_collective_unbroken())
        write_line(&e, beyond, SHMEMI_LINE_RESULT, acc, e.bytes);
}

/* Sends data from the first PE of the node to the others. Goes through the steps of the combination
 * in reverse, with the same groups. In each step the PEs take part that were the first of their
 * groups in all earlier steps of the combination (their number is a multiple of the stride): the
 * first PE of each group writes the data to the others. */
void shmemi_lines_spread(struct shmemi_team *t, void *data, size_t bytes, const char *call)
{
    const struct shmemi_steps *steps = &t->steps;
    const struct exchange e = present_exchange(t, call);
    uint32_t me = t->near_rank, beyond = me + steps->whole;
    if (SHMEMI_UNLIKELY(!shmemi_collective_unbroken()))
        return;
    if (me >= steps->whole)
        memcpy(data, await_one(&e, me - steps->whole, SHMEMI_LINE_SPREAD), bytes);
    for (uint32_t i = me < steps->whole ? steps->n : 0; i-- > 0;) {
        const struct shmemi_step *step = steps->step + i;
        if (me % step->stride != 0)
            continue;
        if (step->digit != 0)
            memcpy(data, await_one(&e, step->first, SHMEMI_LINE_SPREAD), bytes);
        for (uint32_t to = 1; step->digit == 0 && to < step->size; to++)
            write_line(&e, step->first + to * step->stride, SHMEMI_LINE_SPREAD, data, bytes);
    }
    if (beyond < t->n_near && shmemi_collective_unbroken())
        write_line(&e, beyond, SHMEMI_LINE_SPREAD, data, bytes);
}

/* ------------------------------------------------------------------ collect */

/* Sets `has` to the blocks that a member has in its dest before a step of collect with that stride,
 * as two runs: those of `stride` members on the node, and those that members beyond the steps have
 * sent to these. A team that collects in lines is on one node, so a position on the node is a rank.
 */
static void blocks_before(const struct exchange *e, const struct shmemi_blocks *b, uint32_t member,
                          uint32_t stride, struct shmemi_part has[2])
{
    uint32_t n = e->t->n_near, first = member - member % stride;
    uint32_t beyond = e->t->steps.whole + first, end = beyond + stride;
    has[0] = shmemi_blocks_part(b, first, first + stride);
    has[1] = shmemi_blocks_part(b, beyond < n ? beyond : n, end < n ? end : n);
}

/* Reports whether two runs of blocks fit together in one line (a cache line with a contribution).
 * If they do not, the sender writes them directly to dest of the receiving member. */
static bool in_line(const struct shmemi_part p[2])
{
    return p[0].bytes + p[1].bytes <= SHMEMI_LINE_DATA;
}

/* Returns the address of dest at a PE of this node. */
static char *dest_of(const struct exchange *e, int pe)
{
    return shmemi_state.peer_base[pe] + e->dest;
}

/* Writes blocks of this PE to the i-th member on the node: in line `number` if they fit, else to
 * its dest, followed by that line without data. */
static void write_blocks(const struct exchange *e, uint32_t i, uint32_t number,
                         const struct shmemi_part p[2])
{
    const char *dest = dest_of(e, shmemi_state.my_pe);
    if (in_line(p)) {
        char data[SHMEMI_LINE_DATA];
        memcpy(data, dest + p[0].at, p[0].bytes);
        memcpy(data + p[0].bytes, dest + p[1].at, p[1].bytes);
        write_line(e, i, number, data, p[0].bytes + p[1].bytes);
        return;
    }
    char *to = dest_of(e, pe_of(e->t, i));
    memcpy(to + p[0].at, dest + p[0].at, p[0].bytes);
    memcpy(to + p[1].at, dest + p[1].at, p[1].bytes);
    write_line(e, i, number, /* data */ NULL, 0);
}

/* Copies blocks that have arrived in line `number` to this PE's dest. If they did not fit in a
 * line, the sender has written them to dest, and there is nothing to copy. */
static void copy_from_line(const struct exchange *e, uint32_t number, const struct shmemi_part p[2])
{
    if (!in_line(p))
        return;
    char *dest = dest_of(e, shmemi_state.my_pe);
    const char *data = e->mine[number].data;
    memcpy(dest + p[0].at, data, p[0].bytes);
    memcpy(dest + p[1].at, data + p[0].bytes, p[1].bytes);
}

/* Does one step of collect: sends this PE's blocks to the others of the group, waits for theirs,
 * and copies them to dest. All members compute from their positions which blocks each one has. */
static void collect_group(const struct exchange *e, const struct shmemi_blocks *b,
                          const struct shmemi_step *step)
{
    uint32_t size = step->size, digit = step->digit;
    struct shmemi_part p[2];
    blocks_before(e, b, e->t->near_rank, step->stride, p);
    for (uint32_t k = 1, to = digit; k < size; k++) {
        to = to + 1 < size ? to + 1 : 0;
        write_blocks(e, step->first + to * step->stride, line_of(step, to, digit), p);
    }
    await_group(e, step);
    for (uint32_t d = 0; d < size; d++) {
        if (d == digit)
            continue;
        blocks_before(e, b, step->first + d * step->stride, step->stride, p);
        copy_from_line(e, line_of(step, digit, d), p);
    }
}

/* Collects the blocks of the PEs of a team on this node. Only the first `whole` members take part
 * in the steps, since the steps divide that number of PEs into groups. Each other member sends its
 * block to member me - whole before the steps, and gets all other blocks from that member after
 * them. */
void shmemi_lines_collect(struct shmemi_team *t, int64_t dest, const struct shmemi_blocks *b,
                          const char *call)
{
    const struct shmemi_steps *steps = &t->steps;
    uint32_t me = t->near_rank, n = t->n_near, whole = steps->whole, beyond = me + whole;
    if (SHMEMI_UNLIKELY(!shmemi_collective_unbroken()))
        return;
    struct exchange e = begin_exchange(t, call);
    e.dest = dest;
    if (me >= whole) {
        const struct shmemi_part my_block[2] = {shmemi_blocks_part(b, me, me + 1)};
        const struct shmemi_part others[2] = {shmemi_blocks_part(b, 0, me),
                                              shmemi_blocks_part(b, me + 1, n)};
        write_blocks(&e, me - whole, SHMEMI_LINE_GIVEN, my_block);
        await_one(&e, me - whole, SHMEMI_LINE_RESULT);
        copy_from_line(&e, SHMEMI_LINE_RESULT, others);
        return;
    }
    if (beyond < n) {
        const struct shmemi_part beyond_block[2] = {shmemi_blocks_part(b, beyond, beyond + 1)};
        await_one(&e, beyond, SHMEMI_LINE_GIVEN);
        copy_from_line(&e, SHMEMI_LINE_GIVEN, beyond_block);
    }
    for (uint32_t i = 0; i < steps->n && shmemi_collective_unbroken(); i++)
        collect_group(&e, b, steps->step + i);
    if (beyond < n && shmemi_collective_unbroken()) {
        const struct shmemi_part others[2] = {shmemi_blocks_part(b, 0, beyond),
                                              shmemi_blocks_part(b, beyond + 1, n)};
        write_blocks(&e, beyond, SHMEMI_LINE_RESULT, others);
    }
}
