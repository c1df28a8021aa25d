/*
 * check_signal.h: put with signal. The target reads the data as soon as it sees the signal, without
 * a barrier.
 */
#ifndef CHECK_SIGNAL_H
#define CHECK_SIGNAL_H

#include "check_rma.h"

static inline void check_signal_word(const char *what, uint64_t got, uint64_t want)
{
    CHECK(got == want, "%s, signal: expected 0x%jx, got 0x%jx", what, (uintmax_t)want,
          (uintmax_t)got);
}

/* The signal of a put of no elements at NULL arrives, with either operation. */
static inline void check_signal_null(const struct check_symbol *s, uint64_t *sig)
{
    const uint64_t before = 5, operand = 11;
    for (int add = 0; add < 2; add++) {
        *sig = before;
        check_barrier(s);
        struct check_call c = {.sig_addr = sig,
                               .signal = operand,
                               .sig_op = add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET,
                               .pe = check_right()};
        s->call(&c);
        check_signal_word("no elements at NULL", shmem_signal_wait_until(sig, SHMEM_CMP_NE, before),
                          add ? before + operand : operand);
        check_barrier(s);
    }
}

static inline void check_put_signal(const struct check_symbol *s)
{
    static uint64_t *sig; /* symmetric */
    static char array[CHECK_ARRAY] __attribute__((aligned(16)));
    const uint64_t before = 5, operand = 0xFEDCBA9876543210u;
    char *area = check_area();
    const struct check_type *t = s->type;
    struct check_span k;
    if (sig == NULL)
        sig = check_alloc(sizeof *sig);
    check_signal_null(s, sig);
    for (int p = 0; p < check_patterns(s); p++) {
        for (size_t l = 0; l < 2 * CHECK_LENGTHS; l++) {
            if (!check_span(s, l / 2, &k))
                continue;
            int op = l % 2 ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
            char *dest = area + k.dest, *source = array + k.source;
            size_t n = k.n;
            memset(area, CHECK_SENTINEL, k.area);
            *sig = before;
            check_barrier(s);
            int pe, end;
            for (check_targets(p, &pe, &end); pe < end; pe++) {
                check_fill(t, source, n, check_seed(check.me, n, (size_t)pe));
                struct check_call c = {.dest = dest,
                                       .source = source,
                                       .nelems = n,
                                       .sig_addr = sig,
                                       .signal = operand,
                                       .sig_op = op,
                                       .pe = pe};
                s->call(&c);
                if (s->flags & CHECK_NBI)
                    check_quiet(s);
                memset(source, 0, n * t->size);
            }
            const char *what = check_pattern_names[p];
            uint64_t want = op == SHMEM_SIGNAL_ADD ? before + operand : operand;
            check_signal_word(what, shmem_signal_wait_until(sig, SHMEM_CMP_NE, before), want);
            check_filled(t, dest, n, check_seed(check_origin(p), n, (size_t)check.me), what);
            check_signal_word(what, shmem_signal_fetch(sig), want);
            check_untouched(area, 0, k.dest, what);
            check_untouched(area, k.end, k.area, what);
            check_barrier(s);
        }
    }
    /* Every PE adds to one word of PE 0, each with data of its own. */
    enum { SHARE = 3 };
    const char *what = "all to PE 0";
    bool fits = (size_t)check.n * SHARE * t->size <= CHECK_AREA;
    *sig = 0;
    check_barrier(s);
    if (fits) {
        check_fill(t, array, SHARE, check_seed(check.me, SHARE, 0));
        struct check_call c = {.dest = area + (size_t)check.me * SHARE * t->size,
                               .source = array,
                               .nelems = SHARE,
                               .sig_addr = sig,
                               .signal = 1,
                               .sig_op = SHMEM_SIGNAL_ADD,
                               .pe = 0};
        s->call(&c);
        if (check.me == 0) {
            uint64_t n = (uint64_t)check.n;
            check_signal_word(what, shmem_signal_wait_until(sig, SHMEM_CMP_EQ, n), n);
            for (int pe = 0; pe < check.n; pe++)
                check_filled(t, area + (size_t)pe * SHARE * t->size, SHARE,
                             check_seed(pe, SHARE, 0), what);
        }
    }
    check_barrier(s);
}

#endif
