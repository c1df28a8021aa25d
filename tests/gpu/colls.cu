/*
 * colls.cu: each collective of kernels, in each type, by a thread, a warp and a block, several in a
 * row without other calls between them, of lengths that need one chunk and more.
 *
 * shmemrun -n 2 colls
 */
#include "try.h"
/* After the lists. */
#include "parts.h"

namespace kernels
{

constexpr int CALLS = 5, ROUNDS = 30;
constexpr size_t LONGEST = 20000; /* elements; of 8 bytes three chunks */
constexpr size_t BLOCK = 2000;    /* the largest block of a PE */

/* parts: the PEs of a reduce-scatter, 1 for other reductions; 0: no reduction. */
BOTH size_t length_of(int call, int parts)
{
    const size_t lengths[CALLS] = {7, 1, 250, 2000, 0};
    return call == 3 && parts > 0 ? LONGEST / (size_t)parts : lengths[call];
}

enum ids {
#define ID(name, T, bytes, scope) id_##name,
    TEST_broadcast(ID) TEST_fcollect(ID) TEST_alltoall(ID) TEST_sum_reduce(ID) TEST_prod_reduce(ID)
        TEST_min_reduce(ID) TEST_max_reduce(ID) TEST_and_reduce(ID) TEST_or_reduce(ID)
            TEST_xor_reduce(ID) TEST_barrier_all(ID) TEST_barrier(ID) TEST_sync_all(ID)
                TEST_team_sync(ID) TEST_sync(ID) TEST_sum_reducescatter(ID)
                    TEST_prod_reducescatter(ID) TEST_min_reducescatter(ID)
                        TEST_max_reducescatter(ID) TEST_and_reducescatter(ID)
                            TEST_or_reducescatter(ID) TEST_xor_reducescatter(ID)
};

/* Each name in a function of its own, as in rma.cu. */
#define CALL(name, T, bytes, scope)                                                                \
    ANSWER call_##name(char *dest, const char *source, size_t n)                                   \
    {                                                                                              \
        return (name)(WORLD, (T *)dest, (const T *)source, n);                                     \
    }
TEST_fcollect(CALL) TEST_alltoall(CALL) TEST_sum_reduce(CALL) TEST_prod_reduce(CALL)
    TEST_min_reduce(CALL) TEST_max_reduce(CALL) TEST_and_reduce(CALL) TEST_or_reduce(CALL)
        TEST_xor_reduce(CALL) TEST_sum_reducescatter(CALL) TEST_prod_reducescatter(CALL)
            TEST_min_reducescatter(CALL) TEST_max_reducescatter(CALL) TEST_and_reducescatter(CALL)
                TEST_or_reducescatter(CALL) TEST_xor_reducescatter(CALL)
#undef CALL

                    KERNEL
    move_all(int id, char *dest, char *source, size_t room, int pes, int *bad)
{
    ONE_BY_ONE
    for (int i = 0; i < CALLS; i++) {
        /* Unused where parts.h leaves no call. */
        [[maybe_unused]] char *d = dest + (size_t)i * room;
        [[maybe_unused]] const char *s = source + (size_t)i * room;
        [[maybe_unused]] size_t n = length_of(i, 0);
        int status = 1;
        switch (id) {
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        status = (name)(WORLD, (T *)d, (const T *)s, n, i % pes);                                  \
        break;
            TEST_broadcast(CASE)
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        status = call_##name(d, s, n);                                                             \
        break;
                TEST_fcollect(CASE) TEST_alltoall(CASE)
        }
        if (status != 0)
            *bad = 1;
    }
}

/* The last of them in place. */
KERNEL reduce_all(int id, char *dest, char *source, size_t room, int parts, int *bad)
{
    ONE_BY_ONE
    for (int i = 0; i < CALLS; i++) {
        char *d = dest + (size_t)i * room;
        const char *s = i == 2 ? d : source + (size_t)i * room;
        size_t n = length_of(i, parts);
        int status = 1;
        switch (id) {
            TEST_sum_reduce(CASE) TEST_prod_reduce(CASE) TEST_min_reduce(CASE) TEST_max_reduce(CASE)
                TEST_and_reduce(CASE) TEST_or_reduce(CASE) TEST_xor_reduce(CASE)
                    TEST_sum_reducescatter(CASE) TEST_prod_reducescatter(CASE)
                        TEST_min_reducescatter(CASE) TEST_max_reducescatter(CASE)
                            TEST_and_reducescatter(CASE) TEST_or_reducescatter(CASE)
                                TEST_xor_reducescatter(CASE)
#undef CASE
        }
        if (status != 0)
            *bad = 1;
    }
}

/*
 * Each PE writes the round to all, and checks after the call that no PE is behind. The calls that
 * do not complete operations are preceded by a quiet.
 */
KERNEL meet_all(int id, bool completes, long *slots, int me, int pes, int *bad)
{
    ONE_BY_ONE
    for (long round = 1; round <= ROUNDS; round++) {
        if (threadIdx.x == 0) {
            for (int pe = 0; pe < pes; pe++)
                LIB(long_p)(slots + me, round, pe);
            if (!completes)
                LIB(quiet)();
        }
        int status = 0;
        switch (id) {
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        (name)();                                                                                  \
        break;
            TEST_barrier_all(CASE) TEST_sync_all(CASE)
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        status = (name)(WORLD) + !REFUSES((name)(NO_TEAM));                                        \
        break;
                TEST_barrier(CASE) TEST_team_sync(CASE) TEST_sync(CASE)
#undef CASE
        }
        long looked = 0;
        for (int pe = 0; threadIdx.x == 0 && pe < pes; pe++)
            if (!LIB(long_test)(slots + pe, VALUE(CMP_GE), round))
                looked++;
        if (status != 0 || looked != 0)
            *bad = 1;
    }
}

struct bench {
    char *dest, *source;
    long *slots;
    int *bad;
    size_t room;
    std::vector<char> made, have;

    void begin(void)
    {
        copy_memory(dest, made.data(), CALLS * room);
        copy_memory(source, made.data(), CALLS * room);
        int none = 0;
        copy_memory(bad, &none, sizeof none);
        LIB(barrier_all)();
    }
    void finish(const char *name)
    {
        int n;
        LIB(barrier_all)();
        copy_memory(have.data(), dest, CALLS * room);
        copy_memory(&n, bad, sizeof n);
        expect(n == 0, std::string(name) + ": a call failed");
    }
};

void moves(bench *b, const row *rows, size_t count)
{
    for (size_t k = 0; k < CALLS * b->room; k++)
        b->made[k] = (char)pattern(me, (int)(k / b->room), k % b->room);
    for (const row *r = rows; r < rows + count; r++) {
        called(r->name);
        bool one = strstr(r->name, "broadcast"), every = strstr(r->name, "alltoall");
        b->begin();
        LAUNCH(threads_of(r->scope), move_all, r->id, b->dest, b->source, b->room, pes, b->bad);
        b->finish(r->name);
        for (int i = 0; i < CALLS; i++) {
            size_t n = length_of(i, 0) * r->bytes, bad = 0;
            size_t all = one ? n : n * (size_t)pes;
            for (size_t k = 0; k < all + 64; k++) {
                int from = k >= all ? me : one ? i % pes : (int)(k / n);
                size_t at = k >= all || one ? k : every ? (size_t)me * n + k % n : k % n;
                bad += (unsigned char)b->have[(size_t)i * b->room + k] != pattern(from, i, at);
            }
            expect(bad == 0, std::string(r->name) + ": call " + std::to_string(i) + ": " +
                                 std::to_string(bad) + " wrong bytes");
        }
    }
}

enum { SUM, PROD, MIN, MAX, AND, OR, XOR };

int operand(int op, int pe, size_t i)
{
    switch (op) {
    case SUM:
        return (int)(i * 7 + (size_t)pe * 3) % 11;
    case PROD:
        return 1 + ((int)(i + (size_t)pe) % 4 == 0);
    case MIN:
    case MAX:
        return (int)(i * 13 + (size_t)pe * 5) % 17;
    default:
        return (int)(i * 37 + (size_t)pe * 91) & 0x7f;
    }
}

int combined(int op, size_t i)
{
    int v = operand(op, 0, i);
    for (int pe = 1; pe < pes; pe++) {
        int w = operand(op, pe, i);
        switch (op) {
        case SUM:
            v += w;
            break;
        case PROD:
            v *= w;
            break;
        case MIN:
            v = w < v ? w : v;
            break;
        case MAX:
            v = w > v ? w : v;
            break;
        case AND:
            v &= w;
            break;
        case OR:
            v |= w;
            break;
        case XOR:
            v ^= w;
        }
    }
    return v;
}

template <class T> void reduction(bench *b, const row &r, int op)
{
    int parts = strstr(r.name, "scatter") ? pes : 1;
    called(r.name);
    for (int i = 0; i < CALLS; i++)
        for (size_t k = 0; k < LONGEST; k++) {
            T v = (T)(float)operand(op, me, k + (size_t)i);
            memcpy(b->made.data() + (size_t)i * b->room + k * sizeof v, &v, sizeof v);
        }
    b->begin();
    LAUNCH(threads_of(r.scope), reduce_all, r.id, b->dest, b->source, b->room, parts, b->bad);
    b->finish(r.name);
    for (int i = 0; i < CALLS; i++) {
        size_t n = length_of(i, parts), bad = 0, first = parts == 1 ? 0 : (size_t)me * n;
        for (size_t k = 0; k < n + 2 && k < LONGEST; k++) {
            T v, want = (T)(float)(k < n ? combined(op, first + k + (size_t)i)
                                         : operand(op, me, k + (size_t)i));
            memcpy(&v, b->have.data() + (size_t)i * b->room + k * sizeof v, sizeof v);
            bad += memcmp(&v, &want, sizeof v) != 0;
        }
        expect(bad == 0, std::string(r.name) + ": call " + std::to_string(i) + ": " +
                             std::to_string(bad) + " wrong elements");
    }
}

void meetings(bench *b, const row *rows, size_t count)
{
    for (const row *r = rows; r < rows + count; r++) {
        std::vector<long> none((size_t)pes, 0);
        copy_memory(b->slots, none.data(), sizeof(long) * none.size());
        b->begin();
        LAUNCH(threads_of(r->scope), meet_all, r->id, strstr(r->name, "barrier") != nullptr,
               b->slots, me, pes, b->bad);
        b->finish(r->name);
        called(r->name);
    }
}

void run(void)
{
    bench b;
    b.room = (size_t)pes * BLOCK * 8 + LONGEST * 8 + 64;
    b.dest = (char *)LIB(align)(128, CALLS * b.room);
    b.source = (char *)LIB(align)(128, CALLS * b.room);
    b.slots = (long *)LIB(align)(128, sizeof(long) * (size_t)pes);
    b.bad = (int *)(void *)own_memory(sizeof(int));
    b.made.assign(CALLS * b.room, 0);
    b.have.resize(CALLS * b.room);

    const row meets[] = {TEST_barrier_all(ROW) TEST_barrier(ROW) TEST_sync_all(ROW)
                             TEST_team_sync(ROW) TEST_sync(ROW)};
    meetings(&b, meets, sizeof meets / sizeof *meets);
#ifndef SCATTER_ONLY
    const row all[] = {TEST_broadcast(ROW) TEST_fcollect(ROW) TEST_alltoall(ROW)};
    moves(&b, all, sizeof all / sizeof *all);
#endif
#define REDUCE(name, T, bytes, scope) reduction<T>(&b, row{id_##name, #name, bytes, scope}, OP);
#define OP SUM
    TEST_sum_reduce(REDUCE) TEST_sum_reducescatter(REDUCE)
#undef OP
#define OP PROD
        TEST_prod_reduce(REDUCE) TEST_prod_reducescatter(REDUCE)
#undef OP
#define OP MIN
            TEST_min_reduce(REDUCE) TEST_min_reducescatter(REDUCE)
#undef OP
#define OP MAX
                TEST_max_reduce(REDUCE) TEST_max_reducescatter(REDUCE)
#undef OP
#define OP AND
                    TEST_and_reduce(REDUCE) TEST_and_reducescatter(REDUCE)
#undef OP
#define OP OR
                        TEST_or_reduce(REDUCE) TEST_or_reducescatter(REDUCE)
#undef OP
#define OP XOR
                            TEST_xor_reduce(REDUCE) TEST_xor_reducescatter(REDUCE)
}

} // namespace kernels

int main(void)
{
    begin("colls");
    kernels::run();
    return end();
}
