/*
 * rma.cu: each put, get, p, g and put with signal, in each type and size, by a thread, a warp and a
 * block, at whole and odd alignments: the data that arrives, and that no byte beside it changes.
 *
 * shmemrun -n 2 rma [variables]
 *
 * variables: only from and to a kernel's own variables.
 */
#include "try.h"

namespace kernels
{

/* A place for each length and pair of shifts, in elements; 16 bytes are the largest. */
constexpr int MOST = 5, FEW = 4; /* lengths: of puts and gets, and of puts with signal */
constexpr int SHIFTS = 6;        /* dest by 0 or 1, source by 0, 1 or 3 */
constexpr size_t ROOM = 1008 * 16;
constexpr int ELEMENTS = 40; /* of p and g */

struct place {
    size_t to, from, n; /* bytes, bytes, elements */
};
BOTH place place_of(int i, size_t bytes)
{
    const int lengths[] = {1, 3, 17, 250, 1000};
    place p;
    p.to = (size_t)i * ROOM + (size_t)(i % 2) * bytes;
    p.from = (size_t)i * ROOM + (size_t)(i % 3 == 2 ? 3 : i % 3) * bytes;
    p.n = (size_t)lengths[i / SHIFTS];
    return p;
}

enum ids {
#define ID(name, T, bytes, scope) id_##name,
    TEST_put(ID) TEST_get(ID) TEST_put_signal(ID) TEST_p(ID) TEST_g(ID) TEST_put_qp(ID)
        TEST_get_qp(ID) TEST_put_signal_qp(ID) TEST_p_qp(ID) TEST_g_qp(ID)
};

/*
 * Each name is in a separate function, which the compiler processes one by one: all in one kernel
 * took it many minutes. QUEUE is the last argument of functions that take a queue.
 */
#define CALL(name, T, bytes, scope)                                                                \
    STEP call_##name(char *dest, const char *source, size_t n, int pe)                             \
    {                                                                                              \
        (name)((T *)dest, (const T *)source, n, pe QUEUE);                                         \
    }
#define QUEUE
TEST_put(CALL) TEST_get(CALL)
#undef QUEUE
#define QUEUE , NVSHMEMX_QP_ANY
    TEST_put_qp(CALL) TEST_get_qp(CALL)
#undef QUEUE
#undef CALL
#define CALL(name, T, bytes, scope)                                                                \
    STEP call_##name(char *dest, const char *source, size_t n, uint64_t *signal, uint64_t v,       \
                     int op, int pe)                                                               \
    {                                                                                              \
        (name)((T *)dest, (const T *)source, n, signal, v, op, pe QUEUE);                          \
    }
#define QUEUE
        TEST_put_signal(CALL)
#undef QUEUE
#define QUEUE , NVSHMEMX_QP_ANY
            TEST_put_signal_qp(CALL)
#undef QUEUE
#undef CALL

                KERNEL
    put_all(int id, size_t bytes, int places, char *dest, const char *source, int pe)
{
    ONE_BY_ONE
    for (int i = 0; i < places; i++) {
        place p = place_of(i, bytes);
        switch (id) {
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        call_##name(dest + p.to, source + p.from, p.n, pe);                                        \
        break;
            TEST_put(CASE) TEST_put_qp(CASE)
        }
    }
    if (threadIdx.x == 0)
        LIB(quiet)();
}

KERNEL get_all(int id, size_t bytes, int places, char *dest, const char *source, int pe)
{
    ONE_BY_ONE
    for (int i = 0; i < places; i++) {
        place p = place_of(i, bytes);
        switch (id) {
            TEST_get(CASE) TEST_get_qp(CASE)
#undef CASE
        }
    }
    if (threadIdx.x == 0)
        LIB(quiet)();
}

/* The signals' initial value, so that setting one and adding to it differ. */
constexpr uint64_t BEFORE = (uint64_t)1 << 40;

/* Values that fit into a slot, one that would fit only as a negative number, and a long one. */
BOTH uint64_t signal_of(int i)
{
    return i % 5 == 4 ? 0x123456789abcdefu : i % 5 == 3 ? 0x80000000u : (uint64_t)i + 1;
}

/* Waits for the other PE's signals and checks the data before each. */
KERNEL signal_all(int id, size_t bytes, int places, char *dest, const char *source,
                  uint64_t *signals, int pe, int from, int *bad)
{
    ONE_BY_ONE
    for (int i = 0; i < places; i++) {
        place p = place_of(i, bytes);
        int op = i % 2 ? VALUE(SIGNAL_ADD) : VALUE(SIGNAL_SET);
        uint64_t v = signal_of(i);
        switch (id) {
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        call_##name(dest + p.to, source + p.from, p.n, signals + i, v, op, pe);                    \
        break;
            TEST_put_signal(CASE) TEST_put_signal_qp(CASE)
#undef CASE
        }
    }
    for (int i = 0; threadIdx.x == 0 && i < places; i++) {
        place p = place_of(i, bytes);
        uint64_t v = signal_of(i) + (i % 2 ? BEFORE : 0);
        if (LIB(signal_wait_until)(signals + i, VALUE(CMP_NE), BEFORE) != v)
            ++*bad;
        for (size_t k = 0; k < p.n * bytes; k++)
            if ((unsigned char)dest[p.to + k] != pattern(from, i, k + p.from - (size_t)i * ROOM))
                ++*bad;
    }
    if (threadIdx.x == 0)
        LIB(quiet)();
}

KERNEL elements(int id, char *dest, const char *source, int pe)
{
    ONE_BY_ONE
    for (int i = 0; i < ELEMENTS; i++) {
        switch (id) {
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        (name)((T *)dest + i, ((const T *)source)[i], pe QUEUE);                                   \
        break;
#define QUEUE
            TEST_p(CASE)
#undef QUEUE
#define QUEUE , NVSHMEMX_QP_ANY
                TEST_p_qp(CASE)
#undef QUEUE
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        ((T *)dest)[i] = (name)((const T *)source + i, pe QUEUE);                                  \
        break;
#define QUEUE
                    TEST_g(CASE)
#undef QUEUE
#define QUEUE , NVSHMEMX_QP_ANY
                        TEST_g_qp(CASE)
#undef QUEUE
#undef CASE
        }
    }
    LIB(quiet)();
}

/* Signals without data, of each kind of value. */
KERNEL signals_alone(uint64_t *signals, int places, int pe, int *bad)
{
    for (int i = 0; i < places; i++) {
        int op = i % 2 ? VALUE(SIGNAL_ADD) : VALUE(SIGNAL_SET);
        LIBX(signal_op)(signals + i, signal_of(i), op, pe);
    }
    for (int i = 0; i < places; i++)
        *bad += LIB(signal_wait_until)(signals + i, VALUE(CMP_NE), BEFORE) !=
                signal_of(i) + (i % 2 ? BEFORE : 0);
}

/* From and to a kernel's own variables, which no proxy can access: whole and in pieces. */
KERNEL own_variables(char *dest, const char *source, uint64_t *signal, int pe, int from, int *bad)
{
    const int lengths[] = {1, 7, 13, 19, 25, 31, 37, 2000};
    constexpr int LENGTHS = 8;
    constexpr size_t EACH = 4096, HALF = 2048;
    alignas(16) char mine[HALF];
    for (int i = 0; i < LENGTHS; i++) {
        int n = lengths[i];
        const char *came = dest + EACH * (size_t)i + HALF;
        for (int k = 0; k < n; k++)
            mine[k + 1] = source[k];
        LIB(putmem)(dest + EACH * (size_t)i, mine + 1, (size_t)n, pe);
        LIB(putmem_signal)
        (dest + EACH * (size_t)i + HALF, mine + 1, (size_t)n, signal, 1, VALUE(SIGNAL_ADD), pe);
        LIB(signal_wait_until)(signal, VALUE(CMP_GE), (uint64_t)i + 1);
        for (int k = 0; k < n; k++)
            if ((unsigned char)came[k] != pattern(from, 0, (size_t)k))
                ++*bad;
    }
    LIB(quiet)();
    for (int i = 0; i < LENGTHS; i++) {
        int n = lengths[i];
        for (int half = 0; half < 2; half++) {
            LIB(getmem)(mine + 1, dest + EACH * (size_t)i + HALF * (size_t)half, (size_t)n, pe);
            for (int k = 0; k < n; k++)
                if ((unsigned char)mine[k + 1] != (unsigned char)source[k])
                    ++*bad;
        }
    }
}

constexpr size_t ALL = (size_t)MOST * SHIFTS * ROOM;

struct bench {
    char *dest, *source; /* symmetric */
    char *local, *given; /* of this GPU; given has the values of source */
    uint64_t *signals;   /* symmetric */
    int *bad;            /* of this GPU */
    std::vector<char> clear, made, have;
};

/* Whether a place has PE pe's bytes, and its margin is unchanged. */
void look(bench *b, const char *at, const row &r, int places, int pe)
{
    copy_memory(b->have.data(), at, ALL);
    ONE_BY_ONE
    for (int i = 0; i < places; i++) {
        place p = place_of(i, r.bytes);
        size_t n = p.n * r.bytes, begin = (size_t)i * ROOM, bad = 0;
        for (size_t k = begin; k < begin + 17000 && k < p.to + n + 64 && k < ALL; k++) {
            bool inside = k >= p.to && k < p.to + n;
            unsigned char want = inside ? pattern(pe, i, k - p.to + p.from - begin) : 0;
            if (k >= (size_t)(i + 1) * ROOM)
                break;
            bad += (unsigned char)b->have[k] != want;
        }
        expect(bad == 0, std::string(r.name) + ": " + std::to_string(p.n) +
                             " elements: " + std::to_string(bad) + " wrong bytes");
    }
}

void clean(bench *b, uint64_t before = 0)
{
    const std::vector<uint64_t> first(MOST * SHIFTS, before);
    copy_memory(b->dest, b->clear.data(), ALL);
    copy_memory(b->local, b->clear.data(), ALL);
    copy_memory(b->signals, first.data(), 8 * MOST * SHIFTS);
    copy_memory(b->bad, b->clear.data(), sizeof(int));
    LIB(barrier_all)();
}

int bad_of(bench *b)
{
    int n;
    copy_memory(&n, b->bad, sizeof n);
    return n;
}

void prepare(bench *b)
{
    b->dest = (char *)LIB(align)(128, ALL);
    b->source = (char *)LIB(align)(128, ALL);
    b->signals = (uint64_t *)LIB(align)(128, 8 * MOST * SHIFTS);
    b->local = own_memory(ALL);
    b->given = own_memory(ALL);
    b->bad = (int *)(void *)own_memory(sizeof(int));
    b->clear.assign(ALL, 0);
    b->have.resize(ALL);
    b->made.resize(ALL);
    for (size_t k = 0; k < ALL; k++)
        b->made[k] = (char)pattern(me, (int)(k / ROOM), k % ROOM);
    copy_memory(b->source, b->made.data(), ALL);
    copy_memory(b->given, b->made.data(), ALL);
}

void each_name(bench *b)
{
    const row puts[] = {TEST_put(ROW) TEST_put_qp(ROW)};
    for (const row &r : puts) {
        called(r.name);
        clean(b);
        LAUNCH(threads_of(r.scope), put_all, r.id, r.bytes, MOST * SHIFTS, b->dest, b->given,
               next_pe);
        LIB(barrier_all)();
        look(b, b->dest, r, MOST * SHIFTS, last_pe);
    }
    const row gets[] = {TEST_get(ROW) TEST_get_qp(ROW)};
    for (const row &r : gets) {
        called(r.name);
        clean(b);
        LAUNCH(threads_of(r.scope), get_all, r.id, r.bytes, MOST * SHIFTS, b->local, b->source,
               next_pe);
        look(b, b->local, r, MOST * SHIFTS, next_pe);
    }
    const row signals[] = {TEST_put_signal(ROW) TEST_put_signal_qp(ROW)};
    for (const row &r : signals) {
        called(r.name);
        clean(b, BEFORE);
        LAUNCH(threads_of(r.scope), signal_all, r.id, r.bytes, FEW * SHIFTS, b->dest, b->given,
               b->signals, next_pe, last_pe, b->bad);
        LIB(barrier_all)();
        look(b, b->dest, r, FEW * SHIFTS, last_pe);
        expect(bad_of(b) == 0,
               std::string(r.name) + ": a signal is wrong, or came before its data");
    }
    clean(b, BEFORE);
    LAUNCH(1, signals_alone, b->signals, FEW * SHIFTS, next_pe, b->bad);
    called(TEXT(LIBX(signal_op)));
    expect(bad_of(b) == 0, "signals alone: wrong values");
    const row single[] = {TEST_p(ROW) TEST_g(ROW) TEST_p_qp(ROW) TEST_g_qp(ROW)};
    for (const row &r : single) {
        called(r.name);
        bool put = r.name[strlen(r.name) - 1] == 'p';
        clean(b);
        LAUNCH(1, elements, r.id, put ? b->dest : b->local, put ? b->given : b->source, next_pe);
        LIB(barrier_all)();
        copy_memory(b->have.data(), put ? b->dest : b->local, 1024);
        size_t bad = 0;
        for (size_t k = 0; k < 1024; k++)
            bad += (unsigned char)b->have[k] !=
                   (k < ELEMENTS * r.bytes ? pattern(put ? last_pe : next_pe, 0, k) : 0);
        expect(bad == 0, std::string(r.name) + ": " + std::to_string(bad) + " wrong bytes");
    }
}

void variables(bench *b)
{
    clean(b);
#ifdef EMULATED
    emulated_global = false;
#endif
    LAUNCH(1, own_variables, b->dest, b->given, b->signals, next_pe, last_pe, b->bad);
#ifdef EMULATED
    emulated_global = true;
#endif
    expect(bad_of(b) == 0, "a kernel's own variables: wrong bytes");
}

} // namespace kernels

int main(int argc, char **argv)
{
    static kernels::bench b;
    bool only = argc > 1 && strcmp(argv[1], "variables") == 0;
    begin("rma");
    kernels::prepare(&b);
    if (!only)
        kernels::each_name(&b);
    kernels::variables(&b);
    return end();
}
