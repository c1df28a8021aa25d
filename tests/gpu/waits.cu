/*
 * waits.cu: each wait and test of kernels, in each type: the words that satisfy them, their
 * results, and that a wait sees another PE's write.
 *
 * shmemrun -n 2 waits
 */
#include "try.h"

namespace kernels
{

constexpr int WORDS = 8; /* with the values 10, 11, ... */
constexpr long NONE = -1;

enum ids {
#define ID(name, T, bytes, scope) id_##name,
    TEST_wait_until(ID) TEST_test(ID) TEST_wait_until_all(ID) TEST_wait_until_all_vector(ID)
        TEST_wait_until_any(ID) TEST_wait_until_any_vector(ID) TEST_wait_until_some(ID)
            TEST_wait_until_some_vector(ID) TEST_test_all(ID) TEST_test_all_vector(ID)
                TEST_test_any(ID) TEST_test_any_vector(ID) TEST_test_some(ID)
                    TEST_test_some_vector(ID)
};

struct question {
    int out, cmp, value; /* which word is ignored, or -1, or all: WORDS */
    int shift; /* with a value for each word: value i is 10 + i, but that of word 0 is greater by
                  this */
};
struct answer {
    long result, indices[WORDS];
};

KERNEL ask(int id, char *words, question q, answer *a)
{
    int status[WORDS];
    size_t indices[WORDS];
    alignas(8) char many[8 * WORDS];
    for (int i = 0; i < WORDS; i++) {
        status[i] = q.out == i || q.out == WORDS;
        indices[i] = 99;
    }
    long result = 0;
    switch (id) {
#define ONE(name, T, bytes, scope)                                                                 \
    case id_##name:                                                                                \
        (name)((T *)(void *)words + 2, q.cmp, (T)q.value);                                         \
        break;
        TEST_wait_until(ONE)
#undef ONE
#define ONE(name, T, bytes, scope)                                                                 \
    case id_##name:                                                                                \
        result = (name)((T *)(void *)words + 2, q.cmp, (T)q.value);                                \
        break;
            TEST_test(ONE)
#undef ONE
#define ONE(name, T, bytes, scope)                                                                 \
    case id_##name:                                                                                \
        (name)((T *)(void *)words, WORDS, status, q.cmp, (T)q.value);                              \
        break;
                TEST_wait_until_all(ONE)
#undef ONE
#define ONE(name, T, bytes, scope)                                                                 \
    case id_##name:                                                                                \
        result = (long)(name)((T *)(void *)words, WORDS, status, q.cmp, (T)q.value);               \
        break;
                    TEST_test_all(ONE) TEST_wait_until_any(ONE) TEST_test_any(ONE)
#undef ONE
#define ONE(name, T, bytes, scope)                                                                 \
    case id_##name:                                                                                \
        result = (long)(name)((T *)(void *)words, WORDS, indices, status, q.cmp, (T)q.value);      \
        break;
                        TEST_wait_until_some(ONE) TEST_test_some(ONE)
#undef ONE
#define FILL(T)                                                                                    \
    for (int i = 0; i < WORDS; i++)                                                                \
        ((T *)(void *)many)[i] = (T)(10 + i + (i == 0 ? q.shift : 0));
#define ONE(name, T, bytes, scope)                                                                 \
    case id_##name:                                                                                \
        FILL(T)                                                                                    \
        (name)((T *)(void *)words, WORDS, status, q.cmp, (T *)(void *)many);                       \
        break;
                            TEST_wait_until_all_vector(ONE)
#undef ONE
#define ONE(name, T, bytes, scope)                                                                 \
    case id_##name:                                                                                \
        FILL(T)                                                                                    \
        result = (long)(name)((T *)(void *)words, WORDS, status, q.cmp, (T *)(void *)many);        \
        break;
                                TEST_test_all_vector(ONE) TEST_wait_until_any_vector(ONE)
                                    TEST_test_any_vector(ONE)
#undef ONE
#define ONE(name, T, bytes, scope)                                                                 \
    case id_##name:                                                                                \
        FILL(T)                                                                                    \
        result =                                                                                   \
            (long)(name)((T *)(void *)words, WORDS, indices, status, q.cmp, (T *)(void *)many);    \
        break;
                                        TEST_wait_until_some_vector(ONE) TEST_test_some_vector(ONE)
#undef ONE
    }
    a->result = result;
    for (int i = 0; i < WORDS; i++)
        a->indices[i] = (long)indices[i];
}

#ifndef ORACLE
/* The polls of a wait at which a warp of so many checks whether a PE was lost: their number, the
 * first, and the sum of all. */
KERNEL questions(uint32_t polls, uint32_t warp, uint32_t warps, long *asked)
{
    ONE_BY_ONE
    for (uint32_t i = SHMEMI_POLLS_FIRST; i <= polls; i += SHMEMI_POLLS_FIRST) {
        if (!shmemi_checks_losses(i, warp, warps))
            continue;
        if (asked[0]++ == 0)
            asked[1] = (long)i;
        asked[2] += (long)i;
    }
}
#endif

/* Each PE changes words of the next, in rounds that answer each other. */
KERNEL converse(uint64_t *words, int pe, long *seen)
{
    for (uint64_t round = 1; round <= 20; round++) {
        for (int i = 0; i < WORDS; i++) {
            LIB(uint64_p)(words + (i * 3 + (int)round) % WORDS, round, pe);
            LIB(fence)();
        }
        seen[0] +=
            (long)LIB(uint64_wait_until_any)(words, WORDS, NULL, VALUE(CMP_GE), round) < WORDS;
        size_t which[WORDS];
        seen[1] +=
            LIB(uint64_wait_until_some)(words, WORDS, which, NULL, VALUE(CMP_GE), round) >= 1;
        LIB(uint64_wait_until_all)(words, WORDS, NULL, VALUE(CMP_GE), round);
        seen[2] += LIB(uint64_test_all)(words, WORDS, NULL, VALUE(CMP_GE), round);
    }
    LIB(quiet)();
}

struct bench {
    char *words; /* symmetric */
    answer *answers;
};

answer put_question(bench *b, int id, question q)
{
    answer a;
    LAUNCH(1, ask, id, b->words, q, b->answers);
    copy_memory(&a, b->answers, sizeof a);
    return a;
}

template <class T> void fill(bench *b)
{
    T v[WORDS];
    for (int i = 0; i < WORDS; i++)
        v[i] = (T)(10 + i);
    copy_memory(b->words, v, sizeof v);
}

void want(const char *name, const answer &a, long result, long first = 99, long second = 99)
{
    expect(a.result == result && a.indices[0] == first && a.indices[1] == second,
           std::string(name) + ": answers " + std::to_string(a.result) + ", " +
               std::to_string(a.indices[0]) + ", " + std::to_string(a.indices[1]) + "; want " +
               std::to_string(result));
}

/* If several words satisfy the comparison, any may be the result. */
void want_of(const char *name, const answer &a, long first, long last)
{
    expect(first <= a.result && a.result <= last,
           std::string(name) + ": answers " + std::to_string(a.result) + ", want " +
               std::to_string(first) + " to " + std::to_string(last));
}

template <class T> void one(bench *b, int id, const char *name, bool wait)
{
    called(name);
    fill<T>(b);
    const int holds[] = {1, 0, 0, 1, 0, 1}; /* 12 against 12: EQ NE GT LE LT GE */
    for (int cmp = VALUE(CMP_EQ); cmp <= VALUE(CMP_GE); cmp++) {
        if (!wait)
            want(name, put_question(b, id, {-1, cmp, 12, 0}), holds[cmp]);
        else if (holds[cmp])
            want(name, put_question(b, id, {-1, cmp, 12, 0}), 0);
    }
    for (int value : {11, 13}) {
        int cmp = value < 12 ? VALUE(CMP_GT) : VALUE(CMP_LT);
        want(name, put_question(b, id, {-1, cmp, value, 0}), wait ? 0 : 1);
        want(name, put_question(b, id, {-1, VALUE(CMP_NE), value, 0}), wait ? 0 : 1);
    }
}

template <class T> void every(bench *b, int id, const char *name, bool wait)
{
    called(name);
    bool vector = strstr(name, "vector");
    fill<T>(b);
    want(name, put_question(b, id, {-1, vector ? VALUE(CMP_EQ) : VALUE(CMP_GE), 10, 0}),
         wait ? 0 : 1);
    want(name, put_question(b, id, {0, vector ? VALUE(CMP_EQ) : VALUE(CMP_GT), 10, 1}),
         wait ? 0 : 1);
    want(name, put_question(b, id, {WORDS, VALUE(CMP_LT), 0, 0}), wait ? 0 : 1);
    if (!wait)
        want(name, put_question(b, id, {-1, vector ? VALUE(CMP_EQ) : VALUE(CMP_GT), 10, 1}), 0);
}

template <class T> void any(bench *b, int id, const char *name, bool wait)
{
    called(name);
    bool vector = strstr(name, "vector");
    fill<T>(b);
    if (vector) {
        want(name, put_question(b, id, {-1, VALUE(CMP_NE), 0, 1}), 0);
        want_of(name, put_question(b, id, {-1, VALUE(CMP_EQ), 0, 1}), 1, WORDS - 1);
    } else {
        want(name, put_question(b, id, {-1, VALUE(CMP_EQ), 14, 0}), 4);
        want_of(name, put_question(b, id, {4, VALUE(CMP_GE), 14, 0}), 5, WORDS - 1);
    }
    want(name, put_question(b, id, {WORDS, VALUE(CMP_EQ), 14, 0}), NONE);
    if (!wait)
        want(name,
             put_question(b, id, {vector ? 0 : 4, vector ? VALUE(CMP_NE) : VALUE(CMP_EQ), 14, 1}),
             NONE);
}

template <class T> void some(bench *b, int id, const char *name, bool wait)
{
    called(name);
    bool vector = strstr(name, "vector");
    fill<T>(b);
    if (vector) {
        want(name, put_question(b, id, {-1, VALUE(CMP_NE), 0, 1}), 1, 0);
        want(name, put_question(b, id, {2, VALUE(CMP_LT), 0, 1}), 1, 0);
    } else {
        want(name, put_question(b, id, {-1, VALUE(CMP_LT), 12, 0}), 2, 0, 1);
        want(name, put_question(b, id, {5, VALUE(CMP_GT), 14, 0}), 2, 6, 7);
    }
    want(name, put_question(b, id, {WORDS, VALUE(CMP_EQ), 14, 0}), 0);
    if (!wait)
        want(name, put_question(b, id, {-1, VALUE(CMP_GT), 60, 0}), 0);
}

void run(void)
{
    bench b;
    b.words = (char *)LIB(align)(128, 8 * WORDS);
    b.answers = (answer *)(void *)own_memory(sizeof(answer));
#define TRY(name, T, bytes, scope) HOW<T>(&b, id_##name, #name, WAIT);
#define WAIT true
#define HOW one
    TEST_wait_until(TRY)
#undef HOW
#define HOW every
        TEST_wait_until_all(TRY) TEST_wait_until_all_vector(TRY)
#undef HOW
#define HOW any
            TEST_wait_until_any(TRY) TEST_wait_until_any_vector(TRY)
#undef HOW
#define HOW some
                TEST_wait_until_some(TRY) TEST_wait_until_some_vector(TRY)
#undef HOW
#undef WAIT
#define WAIT false
#define HOW one
                    TEST_test(TRY)
#undef HOW
#define HOW every
                        TEST_test_all(TRY) TEST_test_all_vector(TRY)
#undef HOW
#define HOW any
                            TEST_test_any(TRY) TEST_test_any_vector(TRY)
#undef HOW
#define HOW some
                                TEST_test_some(TRY) TEST_test_some_vector(TRY)
#undef HOW

                                    std::vector<char>
                                        none(8 * WORDS, 0);
    copy_memory(b.words, none.data(), none.size());
    copy_memory(b.answers, none.data(), 24);
    LIB(barrier_all)();
    LAUNCH(1, converse, (uint64_t *)(void *)b.words, next_pe, (long *)(void *)b.answers);
    LIB(barrier_all)();
    long seen[3];
    copy_memory(seen, b.answers, sizeof seen);
    expect(seen[0] == 20 && seen[1] == 20 && seen[2] == 20, "waits for another PE's words");

#ifndef ORACLE
    auto asked = [&](uint32_t polls, uint32_t warp, uint32_t warps) {
        copy_memory(b.answers, none.data(), sizeof seen);
        LAUNCH(1, questions, polls, warp, warps, (long *)(void *)b.answers);
        copy_memory(seen, b.answers, sizeof seen);
    };
    asked(4096, 0, 1);
    expect(seen[0] == 8 && seen[1] == 64 &&
               seen[2] == 64 + 128 + 256 + 512 + 1024 + 2048 + 3072 + 4096,
           "a wait asks whether a PE was lost at other polls");
    /* Of many warps each asks once in 64 turns, and one of 64 in each turn. */
    long each = 0, turns = 0;
    for (uint32_t warp = 0; warp < 128; warp++) {
        asked(65536, warp, 1000);
        each += seen[0] == 1 && seen[2] % 1024 == 0;
        turns += seen[2] / 1024;
    }
    expect(each == 128 && turns == 64 * 65, "warps ask in other turns");
    asked(4096, 1, 2);
    expect(seen[0] == 2 && seen[1] == 1024 && seen[2] == 1024 + 3072, "one of two warps asks");
#endif
}

} // namespace kernels

int main(void)
{
    begin("waits");
    kernels::run();
    return end();
}
