/* Half and bfloat16, and reduce-scatter. The compiler's own half is the reference. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct __half {
    uint16_t bits;
};
struct __nv_bfloat16 {
    uint16_t bits;
};

enum { ALL = 1 << 16 };

static int failed;

static void check(int good, const char *what)
{
    if (!good && failed++ < 10)
        fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
}

static float of_half(struct __half h)
{
    _Float16 x;
    memcpy(&x, &h, sizeof x);
    return (float)x;
}

static struct __half to_half(float x)
{
    _Float16 h = (_Float16)x;
    struct __half out;
    memcpy(&out, &h, sizeof h);
    return out;
}

static float of_bfloat16(struct __nv_bfloat16 b)
{
    uint32_t bits = (uint32_t)b.bits << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int same(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Each half at PE 0, and slightly different values at the others. */
static struct __half half_at(int pe, int i)
{
    return (struct __half){(uint16_t)(pe == 0 ? i : i * 7 + pe * 1000)};
}

static void halves(int n)
{
    struct __half *from = nvshmem_malloc(ALL * sizeof *from),
                  *to = nvshmem_malloc(ALL * sizeof *to);
    for (int i = 0; i < ALL; i++)
        from[i] = half_at(nvshmem_my_pe(), i);
    nvshmem_barrier_all();
    check(nvshmem_half_sum_reduce(NVSHMEM_TEAM_WORLD, to, from, ALL) == 0, "a sum of halves");
    for (int i = 0; i < ALL; i++) {
        struct __half sum = half_at(0, i);
        for (int pe = 1; pe < n; pe++)
            sum = to_half(of_half(sum) + of_half(half_at(pe, i)));
        check(same(of_half(to[i]), of_half(sum)), "the sum of halves");
    }
    check(nvshmem_half_max_reduce(NVSHMEM_TEAM_WORLD, to, from, 100) == 0, "a maximum of halves");
    for (int i = 0; i < 100; i++) {
        float most = of_half(half_at(0, i));
        for (int pe = 1; pe < n; pe++)
            most = of_half(half_at(pe, i)) > most ? of_half(half_at(pe, i)) : most;
        check(same(of_half(to[i]), most), "the maximum of halves");
    }
    nvshmem_free(to);
    nvshmem_free(from);
}

/* Small integers, exact in bfloat16; and one that must be rounded to even. */
static void bfloat16s(int me, int n)
{
    struct __nv_bfloat16 *from = nvshmem_malloc(16 * sizeof *from);
    struct __nv_bfloat16 *to = nvshmem_malloc(16 * sizeof *to);
    for (int i = 0; i < 16; i++) {
        float x = (float)(i + 1);
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        from[i].bits = (uint16_t)(bits >> 16);
    }
    from[15].bits = me == 0 ? 0x4380 : me == 1 ? 0x3f80 : 0; /* 256 and 1 */
    nvshmem_barrier_all();
    check(nvshmem_bfloat16_sum_reduce(NVSHMEM_TEAM_WORLD, to, from, 16) == 0, "a sum of bfloat16");
    for (int i = 0; i < 15; i++)
        check(of_bfloat16(to[i]) == (float)(n * (i + 1)), "the sum of bfloat16");
    check(of_bfloat16(to[15]) == 256, "a sum that is rounded to even");

    nvshmem_barrier_all();
    struct __nv_bfloat16 value = nvshmem_bfloat16_g(from + 3, (me + 1) % n);
    check(of_bfloat16(value) == 4, "what g reads");
    nvshmem_bfloat16_p(to, value, (me + 1) % n);
    nvshmem_bfloat16_put_nbi(to + 1, from, 2, (me + 1) % n);
    nvshmem_bfloat16_iput(to + 4, from, 2, 1, 3, (me + 1) % n);
    nvshmem_barrier_all();
    check(of_bfloat16(to[0]) == 4 && of_bfloat16(to[1]) == 1 && of_bfloat16(to[2]) == 2,
          "p and put");
    check(of_bfloat16(to[4]) == 1 && of_bfloat16(to[6]) == 2 && of_bfloat16(to[8]) == 3, "iput");
    nvshmem_barrier_all();
    check(nvshmem_bfloat16_fcollect(NVSHMEM_TEAM_WORLD, to, from + me, 1) == 0 &&
              of_bfloat16(to[n - 1]) == (float)n,
          "fcollect");
    nvshmem_free(to);
    nvshmem_free(from);
}

/* Every PE adds to numbers of PE 0 at once; a half between two that others add to. */
static void sums(int n)
{
    enum { ROUNDS = 30 };
    float *f = nvshmem_calloc(1, sizeof *f);
    double *d = nvshmem_calloc(1, sizeof *d);
    struct __half *h = nvshmem_calloc(4, sizeof *h);
    nvshmem_barrier_all();
    float last = -1;
    for (int i = 0; i < ROUNDS; i++) {
        float seen = nvshmemx_float_atomic_fetch_add(f, 0.5f, 0);
        check(seen > last, "what was there grows");
        last = seen;
        nvshmemx_double_atomic_add(d, 0.25, 0);
        nvshmemx_half_atomic_add(h + 1, to_half(1), 0);
        check(of_half(nvshmemx_half_atomic_fetch_add(h + 2, to_half(2), 0)) >= (float)(2 * i),
              "the half that was there");
        nvshmemx_half_atomic_add(h + 3, to_half(1), 0);
    }
    nvshmem_barrier_all();
    check(nvshmem_float_g(f, 0) == 0.5f * (float)(n * ROUNDS), "the sum of floats");
    check(nvshmem_double_g(d, 0) == 0.25 * n * ROUNDS, "the sum of doubles");
    for (int i = 0; i < 4; i++)
        check(of_half(nvshmem_half_g(h + i, 0)) == (float)(n * ROUNDS * (i == 2 ? 2 : i != 0)),
              "the sum of halves in a word");
    nvshmem_barrier_all();
    nvshmem_free(h);
    nvshmem_free(d);
    nvshmem_free(f);
}

/* Long enough for more than one piece; dest elsewhere, at the caller's part, and at the start. */
static void parts(int me, int n)
{
    enum { PART = 20000 };
    int *from = nvshmem_malloc((size_t)n * PART * sizeof *from);
    int *elsewhere = nvshmem_malloc(PART * sizeof *elsewhere);
    for (int place = 0; place < 3; place++) {
        int *to = place == 0 ? elsewhere : place == 1 ? from + me * PART : from;
        for (int i = 0; i < n * PART; i++)
            from[i] = i * (me + 1);
        check(nvshmem_int_sum_reducescatter(NVSHMEM_TEAM_WORLD, to, from, PART) == 0, "a part");
        for (int i = 0; i < PART; i++)
            check(to[i] == (me * PART + i) * (n * (n + 1) / 2), "the sum of my part");
        nvshmem_barrier_all();
    }
    uint8_t *bits = (uint8_t *)from;
    memset(bits, 1 << me, (size_t)n * 10);
    check(nvshmem_uint8_or_reducescatter(NVSHMEM_TEAM_WORLD, bits + 100, bits, 10) == 0 &&
              bits[109] == (1 << n) - 1,
          "bits of all");
    struct __half *half = (struct __half *)elsewhere;
    for (int i = 0; i < 2 * n; i++)
        half[i] = to_half(exp2f((float)(i % 3)));
    check(nvshmem_half_prod_reducescatter(NVSHMEM_TEAM_WORLD, half + 50, half, 2) == 0 &&
              of_half(half[51]) == powf(exp2f((float)((2 * me + 1) % 3)), (float)n),
          "a product of halves");
    check(nvshmem_int_max_reducescatter(NVSHMEM_TEAM_INVALID, from, from, 1) != 0, "no team");
    nvshmem_free(elsewhere);
    nvshmem_free(from);
}

int main(void)
{
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    if (n < 6) { /* of six PEs on three hosts each host adds first, and the sum is rounded so */
        halves(n);
        bfloat16s(me, n);
    }
    parts(me, n);
    sums(n);
    nvshmem_finalize();
    if (!failed)
        printf("PE %d passed\n", me);
    return failed != 0;
}
