/*
 * atomics.cu: each atomic operation in each type, on another PE's object, against
 * the model; and that additions of many threads of all PEs to one object lose
 * nothing.
 *
 * shmemrun -n 2 atomics
 */
#include "try.h"

namespace kernels
{

enum ids {
#define ID(name, T, bytes, scope) id_##name,
    TEST_atomic_fetch(ID) TEST_atomic_set(ID) TEST_atomic_swap(ID) TEST_atomic_compare_swap(ID)
        TEST_atomic_fetch_inc(ID) TEST_atomic_inc(ID) TEST_atomic_fetch_add(ID) TEST_atomic_add(ID)
            TEST_atomic_fetch_and(ID) TEST_atomic_and(ID) TEST_atomic_fetch_or(ID)
                TEST_atomic_or(ID) TEST_atomic_fetch_xor(ID) TEST_atomic_xor(ID)
                    TEST_atomic_fetch_add_x(ID) TEST_atomic_add_x(ID)
};

/* The number of applications of each operation, each to a separate object. */
constexpr int TIMES = 3;
constexpr int BEFORE[TIMES] = {5, 77, 100}, OPERAND[TIMES] = {3, 6, 27};

struct operands {
    char before[8], operand[8];
};

/*
 * One kernel for all: operations have different arguments besides their object, so each list has
 * its own form of the call. old receives the result of the call.
 */
KERNEL apply(int id, char *object, const char *operand, const char *cond, char *old, int pe)
{
    switch (id) {
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        *(T *)(void *)old = (name)((T *)(void *)object, pe);                                       \
        break;
        TEST_atomic_fetch(CASE) TEST_atomic_fetch_inc(CASE)
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        (name)((T *)(void *)object, pe);                                                           \
        break;
            TEST_atomic_inc(CASE)
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        (name)((T *)(void *)object, *(const T *)(const void *)operand, pe);                        \
        break;
                TEST_atomic_set(CASE) TEST_atomic_add(CASE) TEST_atomic_and(CASE)
                    TEST_atomic_or(CASE) TEST_atomic_xor(CASE) TEST_atomic_add_x(CASE)
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        *(T *)(void *)old = (name)((T *)(void *)object, *(const T *)(const void *)operand, pe);    \
        break;
                        TEST_atomic_swap(CASE) TEST_atomic_fetch_add(CASE)
                            TEST_atomic_fetch_and(CASE) TEST_atomic_fetch_or(CASE)
                                TEST_atomic_fetch_xor(CASE) TEST_atomic_fetch_add_x(CASE)
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        *(T *)(void *)old = (name)((T *)(void *)object, *(const T *)(const void *)cond,            \
                                   *(const T *)(const void *)operand, pe);                         \
        break;
                                    TEST_atomic_compare_swap(CASE)
#undef CASE
    }
    LIB(quiet)();
}

enum { FETCH, SET, CSWAP, ADD, AND, OR, XOR };

int model(int op, int have, int v)
{
    switch (op) {
    case FETCH:
        return have;
    case SET:
        return v;
    case CSWAP:
        return have == 77 ? v : have;
    case ADD:
        return have + v;
    case AND:
        return have & v;
    case OR:
        return have | v;
    default:
        return have ^ v;
    }
}

struct bench {
    char *object;                  /* symmetric: the object between two others */
    char *operand, *cond, *answer; /* of this GPU */
    long *sums;                    /* symmetric */
};

template <class T> void put_value(char *at, int v)
{
    T t = (T)(float)v;
    copy_memory(at, &t, sizeof t);
}
template <class T> int get_value(const char *at)
{
    T t;
    copy_memory(&t, at, sizeof t);
    return (int)(float)t;
}

template <class T> void one(bench *b, int id, const char *name, int op, bool inc, bool answers)
{
    called(name);
    for (int i = 0; i < TIMES; i++) {
        for (int k = 0; k < 3; k++)
            put_value<T>(b->object + sizeof(T) * (size_t)(k + 1), BEFORE[i] + (k != 1));
        put_value<T>(b->operand, OPERAND[i]);
        put_value<T>(b->cond, 77);
        put_value<T>(b->answer, 99);
        LIB(barrier_all)();
        LAUNCH(1, apply, id, b->object + 2 * sizeof(T), b->operand, b->cond, b->answer, next_pe);
        LIB(barrier_all)();
        int want = model(op, BEFORE[i], inc ? 1 : OPERAND[i]);
        int have = get_value<T>(b->object + 2 * sizeof(T)), old = get_value<T>(b->answer);
        expect(have == want, std::string(name) + ": the object is " + std::to_string(have) +
                                 ", want " + std::to_string(want));
        expect(old == (answers ? BEFORE[i] : 99), std::string(name) + ": answers " +
                                                      std::to_string(old) + ", want " +
                                                      std::to_string(BEFORE[i]));
        expect(get_value<T>(b->object + sizeof(T)) == BEFORE[i] + 1 &&
                   get_value<T>(b->object + 3 * sizeof(T)) == BEFORE[i] + 1,
               std::string(name) + ": a neighbour changed");
        LIB(barrier_all)();
    }
}

/* Every thread adds to objects of PE 0, in three ways. */
KERNEL sum_all(long *sums, float *real, int times)
{
    for (int i = 0; i < times; i++) {
        LIB(long_atomic_add)(sums, 1, 0);
        (void)LIB(long_atomic_fetch_add)(sums + 1, (long)1 << 33, 0);
        LIB(int_atomic_inc)((int *)(void *)(sums + 2), 0);
        LIBX(float_atomic_add)(real, 1.0f, 0);
    }
    LIB(quiet)();
}

void run(void)
{
    bench b;
    b.object = (char *)LIB(align)(128, 128);
    b.operand = own_memory(128);
    b.cond = b.operand + 16;
    b.answer = b.operand + 32;
    b.sums = (long *)LIB(align)(128, 128);
#define ONE(name, T, bytes, scope) one<T>(&b, id_##name, #name, OP, INC, ANSWERS);
#define INC false
#define ANSWERS true
#define OP FETCH
    TEST_atomic_fetch(ONE)
#undef OP
#define OP SET
        TEST_atomic_swap(ONE)
#undef OP
#define OP CSWAP
            TEST_atomic_compare_swap(ONE)
#undef OP
#define OP ADD
                TEST_atomic_fetch_add(ONE) TEST_atomic_fetch_add_x(ONE)
#undef OP
#define OP AND
                    TEST_atomic_fetch_and(ONE)
#undef OP
#define OP OR
                        TEST_atomic_fetch_or(ONE)
#undef OP
#define OP XOR
                            TEST_atomic_fetch_xor(ONE)
#undef OP
#undef ANSWERS
#define ANSWERS false
#define OP SET
                                TEST_atomic_set(ONE)
#undef OP
#define OP ADD
                                    TEST_atomic_add(ONE) TEST_atomic_add_x(ONE)
#undef OP
#define OP AND
                                        TEST_atomic_and(ONE)
#undef OP
#define OP OR
                                            TEST_atomic_or(ONE)
#undef OP
#define OP XOR
                                                TEST_atomic_xor(ONE)
#undef OP
#undef INC
#define INC true
#define OP ADD
                                                    TEST_atomic_inc(ONE)
#undef ANSWERS
#define ANSWERS true
                                                        TEST_atomic_fetch_inc(ONE)

                                                            const int times = 50;
    const long each = (long)threads_of(block) * times * pes;
    std::vector<char> none(128, 0);
    copy_memory(b.sums, none.data(), 128);
    LIB(barrier_all)();
    LAUNCH(threads_of(block), sum_all, b.sums, (float *)(void *)(b.sums + 4), times);
    LIB(barrier_all)();
    if (me == 0) {
        expect(get_value<int>((const char *)(b.sums + 2)) == each, "increments are lost");
        expect(get_value<float>((const char *)(b.sums + 4)) == each, "sums of float are lost");
        long have[2];
        copy_memory(have, b.sums, sizeof have);
        expect(have[0] == each, "additions are lost: " + std::to_string(have[0]));
        expect(have[1] == each << 33, "additions that answer are lost: " + std::to_string(have[1]));
    }
}

} // namespace kernels

int main(void)
{
    begin("atomics");
    kernels::run();
    return end();
}
