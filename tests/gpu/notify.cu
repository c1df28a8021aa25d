/*
 * notify.cu: puts with notifications by kernels, and the counters: each put counts once, behind its
 * bytes, whatever its length and scope, and a counter has one value for kernels and the host.
 *
 * shmemrun -n N notify [ROUNDS]
 * shmemrun -n 2 notify refused CALL
 */
#include "try.h"

#include <thread>

namespace kernels
{

constexpr size_t ROOM = 70016;
constexpr int SIZES = 13, TIMES = 25;
constexpr uint32_t BYTES = 9000; /* of a conversation */

BOTH size_t size_of(int k)
{
    const size_t sizes[SIZES] = {0, 1, 8, 16, 17, 100, 2048, 2052, 4040, 4041, 8192, 8203, 70000};
    return sizes[k];
}

/* A call by a scope's number. */
template <int SCOPE, int NBI>
STEP put(void *dest, const void *source, size_t nbytes, int counter, int pe)
{
    if (SCOPE == thread && !NBI)
        (shmemx_putmem_notify)(dest, source, nbytes, counter, pe);
    else if (SCOPE == thread)
        (shmemx_putmem_notify_nbi)(dest, source, nbytes, counter, pe);
    else if (SCOPE == warp && !NBI)
        (shmemx_putmem_notify_warp)(dest, source, nbytes, counter, pe);
    else if (SCOPE == warp)
        (shmemx_putmem_notify_nbi_warp)(dest, source, nbytes, counter, pe);
    else if (!NBI)
        (shmemx_putmem_notify_block)(dest, source, nbytes, counter, pe);
    else
        (shmemx_putmem_notify_nbi_block)(dest, source, nbytes, counter, pe);
}

template <int SCOPE> STEP meet()
{
    if (SCOPE == warp)
        __syncwarp();
    else if (SCOPE == block)
        __syncthreads();
}

/* Every length to a PE, each with a counter of its own. */
template <int SCOPE, int NBI> KERNEL send_all(char *area, const char *source, int counter, int pe)
{
    for (int k = 0; k < SIZES; k++)
        put<SCOPE, NBI>(k == 0 ? NULL : area + k * ROOM, source + k * ROOM, size_of(k), counter + k,
                        pe);
    if (NBI && threadIdx.x == 0)
        (shmem_quiet)();
}

KERNEL wait_all(int counter, uint64_t count, uint64_t *values)
{
    for (int k = 0; k < SIZES; k++)
        values[k] = (shmemx_notify_wait)(counter + k, count);
}

/* Words to every PE, many times, in one counter. */
template <int SCOPE>
KERNEL send_words(uint64_t *words, const uint64_t *source, int counter, int n, int self)
{
    for (int i = 0; i < TIMES; i++)
        for (int pe = 0; pe < n; pe++)
            put<SCOPE, 0>(words + self, source, 8, counter, pe);
}

/* By contexts, and from variables of the kernel. */
KERNEL send_more(shmem_context ctx, char *area, const char *source, int counter, int pe)
{
    char own[40];
    for (int i = 0; i < 40; i++)
        own[i] = (char)(3 * i);
    (shmemx_putmem_notify)(ctx, area, source, 100, counter, pe);
    (shmemx_putmem_notify_nbi)(ctx, area + 100, source + 100, 100, counter, pe);
    (shmemx_ctx_putmem_notify)(ctx, area + 200, source + 200, 5000, counter, pe);
    (shmemx_putmem_notify)(area + 6000, own, 40, counter, pe);
    (shmem_quiet)(); /* own ends with the kernel */
}

KERNEL ask(int counter, uint64_t count, uint64_t *answers)
{
    answers[0] = (uint64_t)(shmemx_notify_test)(counter, count);
    answers[1] = (uint64_t)(shmemx_notify_test)(counter, count + 1);
    answers[2] = (shmemx_notify_fetch)(counter);
    answers[3] = (shmemx_notify_wait)(counter, count);
}

KERNEL set(int counter, uint64_t value)
{
    (shmemx_notify_reset)(counter, value);
}

/* Each round's bytes are complete when its notification is, and the next PE answers with one. */
template <int SCOPE>
KERNEL converse(unsigned char *area, unsigned char *own, int counter, uint64_t rounds, int next,
                int last, unsigned *bad)
{
    unsigned wrong = 0;
    for (uint64_t round = 1; round <= rounds; round++) {
        for (uint32_t i = threadIdx.x; i < BYTES; i += blockDim.x)
            own[i] = (unsigned char)(round * 7 + i % 251);
        meet<SCOPE>();
        put<SCOPE, 0>(area, own, round % 3 == 0 ? 24 : BYTES, counter, next);
        (void)(shmemx_notify_wait)(counter, round);
        for (uint32_t i = threadIdx.x; i < (round % 3 == 0 ? 24 : BYTES); i += blockDim.x)
            wrong += area[i] != (unsigned char)(round * 7 + i % 251);
        meet<SCOPE>();
        put<SCOPE, 0>(NULL, NULL, 0, counter + 1, last);
        (void)(shmemx_notify_wait)(counter + 1, round);
    }
    bad[threadIdx.x] = wrong;
}

/* The host works beside a kernel. */
#ifdef EMULATED
#define BESIDE(work, threads, kernel, ...)                                                         \
    do {                                                                                           \
        std::thread there([&] { LAUNCH(threads, kernel, __VA_ARGS__); });                          \
        work();                                                                                    \
        there.join();                                                                              \
    } while (0)
#else
#define BESIDE(work, threads, kernel, ...)                                                         \
    do {                                                                                           \
        kernel<<<1, threads>>>(__VA_ARGS__);                                                       \
        CHECK(cudaGetLastError());                                                                 \
        work();                                                                                    \
        CHECK(cudaDeviceSynchronize());                                                            \
    } while (0)
#endif

char *area, *source; /* symmetric, and of this PE */
uint64_t *words;     /* symmetric, one for each PE */
uint64_t *answers;
unsigned *bad;

int range(int n)
{
    int first = (::shmemx_notify_alloc)(n);
    expect(first >= 0, "no range of counters is free");
    return first;
}

void release(int first)
{
    shmem_barrier_all();
    (::shmemx_notify_free)(first);
}

/* What a kernel and the host say of a counter. */
void has(int counter, uint64_t want, const std::string &what)
{
    uint64_t there[4];
    LAUNCH(1, ask, counter, want, answers);
    copy_memory(there, answers, sizeof there);
    uint64_t here = (::shmemx_notify_fetch)(counter);
    expect(there[0] == 1 && there[1] == 0 && there[2] == want && there[3] == want,
           what + ": a kernel tests " + std::to_string(there[0]) + ", " + std::to_string(there[1]) +
               " and has " + std::to_string(there[2]) + ", want " + std::to_string(want));
    expect(here == want,
           what + ": the host has " + std::to_string(here) + ", want " + std::to_string(want));
    expect((::shmemx_notify_test)(counter, want) == 1 &&
               (::shmemx_notify_test)(counter, want + 1) == 0 &&
               (::shmemx_notify_wait)(counter, want) == want,
           what + ": the host's test or wait");
}

template <int SCOPE, int NBI> void try_sizes()
{
    const std::string what = std::string(NBI ? "nbi " : "") + "by a " +
                             (SCOPE == thread ? "thread"
                              : SCOPE == warp ? "warp"
                                              : "block");
    int counter = range(SIZES);
    std::vector<unsigned char> bytes(SIZES * ROOM), came(SIZES * ROOM);
    for (int round = 1; round <= 2; round++) {
        for (size_t i = 0; i < bytes.size(); i++)
            bytes[i] = pattern(me, round, i);
        copy_memory(source, bytes.data(), bytes.size());
        shmem_barrier_all();
        auto send = send_all<SCOPE, NBI>;
        LAUNCH(threads_of(SCOPE), send, area, source, counter, next_pe);
        LAUNCH(1, wait_all, counter, (uint64_t)round, answers);
        uint64_t values[SIZES];
        copy_memory(values, answers, sizeof values);
        copy_memory(came.data(), area, came.size());
        for (int k = 0; k < SIZES; k++) {
            size_t wrong = 0;
            for (size_t i = k * ROOM; i < k * ROOM + size_of(k); i++)
                wrong += came[i] != pattern(last_pe, round, i);
            expect(values[k] == (uint64_t)round && wrong == 0,
                   what + ", " + std::to_string(size_of(k)) + " bytes: counter " +
                       std::to_string(values[k]) + " in round " + std::to_string(round) + ", " +
                       std::to_string(wrong) + " wrong bytes");
        }
        shmem_barrier_all();
    }
    for (int k = 0; k < SIZES; k++)
        expect((::shmemx_notify_fetch)(counter + k) == 2, what + ": counts once, for the host");
    release(counter);
}

/* One counter for the kernels and hosts of all PEs, at once. */
template <int SCOPE> void try_sum()
{
    int counter = range(2);
    const uint64_t all = 2 * TIMES * (uint64_t)pes;
    uint64_t word = (uint64_t)me + 1;
    copy_memory(source, &word, sizeof word);
    shmem_barrier_all();
    BESIDE(
        [&] {
            for (int i = 0; i < TIMES; i++)
                for (int pe = 0; pe < pes; pe++)
                    (::shmemx_putmem_notify)(words + pes + me, &word, 8, counter, pe);
        },
        threads_of(SCOPE), send_words<SCOPE>, words, (const uint64_t *)(const void *)source,
        counter, pes, me);
    uint64_t got = (::shmemx_notify_wait)(counter, all);
    expect(got == all,
           "the host waits for " + std::to_string(all) + " and has " + std::to_string(got));
    shmem_barrier_all();
    has(counter, all, "puts of kernels and hosts");
    has(counter + 1, 0, "no puts");
    std::vector<uint64_t> have(2 * pes);
    copy_memory(have.data(), words, 16 * pes);
    for (int pe = 0; pe < 2 * pes; pe++)
        expect(have[pe] == (uint64_t)(pe % pes) + 1,
               "a word that was put " + std::to_string(TIMES) + " times");
    release(counter);
}

/* Kernels wait for hosts, and hosts for kernels. */
void try_across()
{
    int counter = range(2);
    auto zero = send_words<thread>;
    for (uint64_t round = 1; round <= 3; round++) {
        BESIDE([&] { (::shmemx_putmem_notify)(NULL, NULL, 0, counter, next_pe); }, 1, ask, counter,
               round, answers);
        uint64_t there[4];
        copy_memory(there, answers, sizeof there);
        expect(there[3] == round, "a kernel that waits for a host");
        shmem_barrier_all();
    }
    BESIDE(
        [&] {
            for (int k = 0; k < SIZES; k++)
                (::shmemx_putmem_notify)(NULL, NULL, 0, counter + 1, next_pe);
        },
        1, ask, counter + 1, (uint64_t)0, answers);
    LAUNCH(1, zero, words, (const uint64_t *)(const void *)source, counter + 1, pes, me);
    const uint64_t all = SIZES + TIMES * (uint64_t)pes;
    expect((::shmemx_notify_wait)(counter + 1, all) == all, "a host that waits for kernels");
    has(counter, 3, "three puts of the host");
    has(counter + 1, all, "puts of the host, then of kernels");
    release(counter);
}

/* Whoever sets a counter, all see the value, and count on from it. */
void try_reset()
{
    int counter = range(1);
    uint64_t want = 0;
    for (uint64_t round = 0; round < 6; round++) {
        auto once = send_words<warp>;
        LAUNCH(threads_of(warp), once, words, (const uint64_t *)(const void *)source, counter, pes,
               me);
        (::shmemx_putmem_notify)(NULL, NULL, 0, counter, next_pe);
        want += TIMES * (uint64_t)pes + 1;
        (::shmemx_notify_wait)(counter, want);
        shmem_barrier_all();
        has(counter, want, "before round " + std::to_string(round));
        shmem_barrier_all();
        if (round % 3 == 0) { /* after puts that the host has not seen */
            LAUNCH(threads_of(warp), once, words, (const uint64_t *)(const void *)source, counter,
                   pes, me);
            LAUNCH(1, ask, counter, want + TIMES * (uint64_t)pes, answers);
            shmem_barrier_all();
            want = round * round * 1000;
            LAUNCH(1, set, counter, want);
            expect((::shmemx_notify_test)(counter, want + 1) == 0, "a count that was not reached");
        } else {
            want = round * round * 1000;
            (::shmemx_notify_reset)(counter, want);
        }
        has(counter, want, "set in round " + std::to_string(round));
        shmem_barrier_all();
    }
    LAUNCH(1, set, counter, INT64_MAX);
    expect((::shmemx_notify_fetch)(counter) == INT64_MAX, "the greatest value");
    release(counter);
}

void try_more()
{
    int counter = range(1);
    std::vector<unsigned char> sent(6000), came(6040);
    for (size_t i = 0; i < sent.size(); i++)
        sent[i] = pattern(me, 5, i);
    copy_memory(source, sent.data(), sent.size());
    shmem_barrier_all();
    LAUNCH(1, send_more, shmem_ctx(area), area, source, counter, next_pe);
    (::shmemx_notify_wait)(counter, 4);
    copy_memory(came.data(), area, came.size());
    unsigned wrong = 0;
    for (size_t i = 0; i < 5200; i++)
        wrong += came[i] != pattern(last_pe, 5, i);
    for (int i = 0; i < 40; i++)
        wrong += came[6000 + i] != (unsigned char)(3 * i);
    expect(wrong == 0, "by contexts and from variables: " + std::to_string(wrong) + " wrong");
    shmem_barrier_all();
    has(counter, 4, "by contexts and from variables");
    release(counter);
}

template <int SCOPE> void try_order(uint64_t rounds)
{
    int counter = range(2);
    const unsigned threads = threads_of(SCOPE);
    auto kernel = converse<SCOPE>;
    LAUNCH(threads, kernel, (unsigned char *)area, (unsigned char *)source, counter, rounds,
           next_pe, last_pe, bad);
    std::vector<unsigned> wrong(threads);
    copy_memory(wrong.data(), bad, threads * sizeof(unsigned));
    unsigned sum = 0;
    for (unsigned w : wrong)
        sum += w;
    expect(sum == 0, "notified before " + std::to_string(sum) + " of the bytes were there");
    shmem_barrier_all();
    has(counter, rounds, "a conversation");
    has(counter + 1, rounds, "its answers");
    release(counter);
}

template <int SCOPE> void try_scope(uint64_t rounds)
{
    try_sizes<SCOPE, 0>();
    try_sizes<SCOPE, 1>();
    try_sum<SCOPE>();
    try_order<SCOPE>(rounds);
}

void run(uint64_t rounds)
{
    area = (char *)shmem_malloc(SIZES * ROOM);
    words = (uint64_t *)shmem_calloc(2 * (size_t)pes, sizeof *words);
    source = own_memory(SIZES * ROOM);
    answers = (uint64_t *)(void *)own_memory(SIZES * sizeof *answers);
    bad = (unsigned *)(void *)own_memory(1024 * sizeof *bad);
    shmem_barrier_all();
    try_scope<thread>(rounds);
    try_scope<warp>(rounds);
    try_scope<block>(rounds);
    try_across();
    try_reset();
    try_more();
#define CALLED(name, T, bytes, scope) called(#name);
    TEST_putmem_notify_x(CALLED) TEST_notify_wait_x(CALLED) TEST_notify_test_x(CALLED)
        TEST_notify_fetch_x(CALLED) TEST_notify_reset_x(CALLED)
}

/* Calls with arguments that have no meaning. */
KERNEL refused(int which, uint64_t *word, int self, int n)
{
    const uint64_t above = (uint64_t)1 << 63;
    switch (which) {
    case 0:
        (shmemx_putmem_notify)(word, word, 8, 4096, self);
        break;
    case 1:
        (shmemx_putmem_notify_nbi_block)(NULL, NULL, 0, -1, self);
        break;
    case 2:
        (shmemx_putmem_notify)(NULL, NULL, 0, 1, n);
        break;
    case 3:
        (void)(shmemx_notify_wait)(4096, 0);
        break;
    case 4:
        (void)(shmemx_notify_wait)(1, above);
        break;
    case 5:
        (void)(shmemx_notify_test)(1, above);
        break;
    case 6:
        (void)(shmemx_notify_fetch)(4097);
        break;
    case 7:
        (shmemx_notify_reset)(1, above + 1);
        break;
    default:
        (shmemx_notify_reset)(-5, 0);
    }
}

} // namespace kernels

int main(int argc, char **argv)
{
    begin("notify");
    if (argc > 2 && strcmp(argv[1], "refused") == 0) {
        uint64_t *word = (uint64_t *)shmem_calloc(1, sizeof *word);
        LAUNCH(1, kernels::refused, atoi(argv[2]), word, me, pes);
        return end();
    }
    kernels::run(argc > 1 ? strtoull(argv[1], NULL, 10) : 30);
    return end();
}
