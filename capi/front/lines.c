/*
 * lines.c: small collectives of PEs that are all on one node.
 *
 * A PE may begin an exchange when another has yet to read its line of the last one, but not of the
 * one before, so there are two sets of lines.
 */
#include "lines.h"

#include "failure.h"
#include "notify.h"
#include "steps.h"
#include "team.h"
#include "wait.h"

#include <stdio.h>

struct line {
    _Alignas(SHMEMI_CACHE_LINE) uint64_t exchange; /* stored behind data, with release */
    char data[SHMEMI_LINE_DATA];
};
_Static_assert(sizeof(struct line) == SHMEMI_CACHE_LINE, "a line is one cache line");

struct exchange {
    struct shmemi_team *t;
    size_t nelems, bytes;
    const struct shmemi_reducer *reducer;
    const struct shmemi_lines_report *everyone;
    const char *call;
};

/* A line of this exchange at the member of number i on this node. */
static struct line *line_of(const struct shmemi_team *t, uint32_t i, uint32_t number)
{
    char *base = shmemi_state.peer_base[t->pes[t->near[i]]];
    return (struct line *)(void *)(base + t->lines) + (t->line_exchanges % SHMEMI_LINE_SETS) * SHMEMI_LINES + number;
}

static void give(const struct exchange *e, uint32_t i, uint32_t number, const void *data)
{
    struct line *to = line_of(e->t, i, number);
    if (e->bytes > 0)
        memcpy(to->data, data, e->bytes);
    __atomic_store_n(&to->exchange, e->t->line_exchanges, __ATOMIC_RELEASE);
    shmemi_notify(e->t->pes[e->t->near[i]]);
}

/* Lines of this PE, from `line` on, that members of its node write: member_of says which one. */
struct awaited {
    const struct exchange *e;
    uint32_t line, n;
    uint32_t first, stride, skipped;
};

static uint32_t member_of(const struct awaited *a, uint32_t k)
{
    return a->first + (k + (k >= a->skipped)) * a->stride;
}

static bool is_given(const struct awaited *a, uint32_t k)
{
    const struct shmemi_team *t = a->e->t;
    const struct line *l = line_of(t, t->near_rank, a->line + k);
    return __atomic_load_n(&l->exchange, __ATOMIC_ACQUIRE) == t->line_exchanges;
}

/* It looks at all of them, so that the processor fetches the lines side by side. */
static bool all_given(const struct awaited *a)
{
    bool all = true;
    for (uint32_t k = 0; k < a->n; k++)
        all &= is_given(a, k);
    return all;
}

static int late_at_lines(const void *subject, int32_t *pes, int most)
{
    const struct awaited *a = subject;
    const struct shmemi_team *t = a->e->t;
    int n = 0;
    for (uint32_t k = 0; k < a->n; k++)
        if (!is_given(a, k) && n++ < most)
            pes[n - 1] = t->pes[t->near[member_of(a, k)]];
    return n;
}

static void describe_lines(const void *subject, char *text, size_t size)
{
    int32_t pes[8];
    int n = late_at_lines(subject, pes, 8);
    size_t used = (size_t)snprintf(text, size, "for the contribution of");
    for (int i = 0; i < n && i < 8 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " PE %d", pes[i]);
}

static void await(const struct awaited *a)
{
    const struct shmemi_lines_report *r = a->e->everyone;
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), a->e->call, r != NULL ? r->describe : describe_lines,
                    r != NULL ? r->subject : a, all_given(a), .whom = SHMEMI_MEMBERS,
                    .late = r != NULL ? r->late : late_at_lines);
}

/* Waits for one line of a member. */
static const void *await_one(const struct exchange *e, uint32_t member, uint32_t line)
{
    struct awaited a = {e, line, 1, member, 0, 1};
    await(&a);
    return line_of(e->t, e->t->near_rank, line)->data;
}

static void take(const struct exchange *e, void *acc, const void *in)
{
    if (e->bytes > 0)
        e->reducer->combine(acc, in, e->nelems);
}

/* All of a group combine the same operands in the same order. */
static void meet_group(const struct exchange *e, void *acc, uint32_t stride, uint32_t size,
                       uint32_t line)
{
    uint32_t me = e->t->near_rank, digit = me / stride % size, first = me - digit * stride;
    for (uint32_t k = 1; k < size; k++) {
        uint32_t to = (digit + k) % size;
        give(e, first + to * stride, line + (digit < to ? digit : digit - 1), acc);
    }
    struct awaited a = {e, line, size - 1, first, stride, digit};
    await(&a);
    if (e->bytes == 0)
        return;
    _Alignas(SHMEMI_CACHE_LINE) char own[SHMEMI_LINE_DATA];
    memcpy(own, acc, e->bytes);
    for (uint32_t d = 0, k = 0; d < size; d++) {
        const void *in = d == digit ? own : line_of(e->t, me, line + k++)->data;
        if (d == 0)
            memcpy(acc, in, e->bytes);
        else
            take(e, acc, in);
    }
}

void shmemi_lines_combine(struct shmemi_team *t, void *acc, size_t nelems,
                          const struct shmemi_reducer *reducer,
                          const struct shmemi_lines_report *everyone, const char *call)
{
    size_t bytes = nelems > 0 ? nelems * reducer->size : 0;
    struct exchange e = {t, nelems, bytes, reducer, everyone, call};
    const struct shmemi_steps *steps = &t->steps;
    uint32_t me = t->near_rank, whole = steps->whole, beyond = me + whole;
    if (SHMEMI_UNLIKELY(!shmemi_collective_holds()))
        return;
    t->line_exchanges++;
    if (me >= whole) {
        give(&e, me - whole, SHMEMI_LINE_GIVEN, acc);
        memcpy(acc, await_one(&e, me - whole, SHMEMI_LINE_RESULT), bytes);
        return;
    }
    if (beyond < t->n_near)
        take(&e, acc, await_one(&e, beyond, SHMEMI_LINE_GIVEN));
    uint32_t stride = 1, line = SHMEMI_LINES_OF_STEPS;
    for (uint32_t i = 0; i < steps->n && shmemi_collective_holds(); i++) {
        meet_group(&e, acc, stride, steps->group[i], line);
        stride *= steps->group[i];
        line += steps->group[i] - 1u;
    }
    if (beyond < t->n_near && shmemi_collective_holds())
        give(&e, beyond, SHMEMI_LINE_RESULT, acc);
}
