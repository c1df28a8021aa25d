/*
 * singles.cu: names for kernels that no other program of tests/gpu calls from a list: the PE's
 * number, order, signals, and names of NVSHMEM alone; each is compared with the program's own
 * computation.
 *
 * shmemrun -n 2 singles [exit]
 *
 * exit: PE 0's kernel ends the job with status 7.
 */
#include "try.h"

namespace kernels
{

constexpr int WORDS = 16;

enum ids {
#define ID(name, T, bytes, scope) id_##name,
    TEST_fence(ID) TEST_quiet(ID) TEST_flush_x(ID) TEST_qp_fence_x(ID) TEST_qp_quiet_x(ID)
        TEST_signal_set(ID) TEST_signal_add(ID) TEST_signal_op(ID) TEST_signal_op_x(ID)
            TEST_qp_signal_op_x(ID)
};

struct bench {
    long *box;        /* symmetric */
    uint64_t *signal; /* symmetric */
    long *own, *out;  /* of this GPU */
    long seen[WORDS];

    void clear(void)
    {
        std::vector<long> none(WORDS, 0);
        for (void *at : {(void *)box, (void *)signal, (void *)own, (void *)out})
            copy_memory(at, none.data(), WORDS * sizeof(long));
        LIB(barrier_all)();
    }
    void read(void)
    {
        LIB(barrier_all)();
        copy_memory(seen, out, sizeof seen);
    }
};

/* ------------------------------------------------------ this PE and others */

KERNEL who(long *out, long *box, const char *own, int next)
{
    int self = LIB(my_pe)();
    out[0] = self;
    out[1] = LIB(n_pes)();
    out[2] = LIB(team_my_pe)(WORLD);
    out[3] = LIB(team_my_pe)(NO_TEAM);
    out[4] = LIB(team_n_pes)(WORLD);
    out[5] = LIB(team_n_pes)(NO_TEAM);
    out[6] = LIB(team_translate_pe)(WORLD, next, WORLD);
    out[7] = LIB(team_translate_pe)(WORLD, next, NO_TEAM);
    out[8] = LIB(ptr)(box, self) == box;
    out[9] = LIB(ptr)(own, self) == NULL;
    /* If stores reach the peer's memory, they arrive there; else the library puts. */
    long *theirs = (long *)LIB(ptr)(box + 1, next);
    out[10] = theirs != NULL;
    if (theirs != NULL)
        *(volatile long *)theirs = 100 + self;
    else
        LIB(long_p)(box + 1, 200 + self, next);
    LIB(quiet)();
}

void identity(bench *b)
{
    b->clear();
    LAUNCH(1, who, b->out, b->box, (const char *)b->own, next_pe);
    b->read();
    const long want[] = {me, pes, me, -1, pes, -1, next_pe, -1, 1, 1};
    const char *names[] = {TEXT(LIB(my_pe)),
                           TEXT(LIB(n_pes)),
                           TEXT(LIB(team_my_pe)),
                           TEXT(LIB(team_my_pe)),
                           TEXT(LIB(team_n_pes)),
                           TEXT(LIB(team_n_pes)),
                           TEXT(LIB(team_translate_pe)),
                           TEXT(LIB(team_translate_pe)),
                           TEXT(LIB(ptr)),
                           TEXT(LIB(ptr))};
    for (int i = 0; i < 10; i++) {
        called(names[i]);
        expect(b->seen[i] == want[i], std::string(names[i]) + ": answers " +
                                          std::to_string(b->seen[i]) + ", want " +
                                          std::to_string(want[i]));
    }
    long came;
    copy_memory(&came, b->box + 1, sizeof came);
    expect(came == 100 + last_pe || came == 200 + last_pe,
           TEXT(LIB(ptr)) ": the stored word is " + std::to_string(came));
    expect(b->seen[10] == (came / 100 == 1) || pes > 2, TEXT(LIB(ptr)) ": answers both ways");
}

/* ------------------------------------------------------------------------ order */

/*
 * A put, the call, and a signal. A PE that has seen the signal has seen the put. After a call that
 * completes operations the source may change; a flush guarantees no more than that.
 */
KERNEL order(int id, bool reuse, long value, long *box, long *own, uint64_t *signal, int pe,
             long *out)
{
    if (threadIdx.x == 0) {
        *(volatile long *)own = value;
        LIB(long_put_nbi)(box, own, 1, pe);
    }
    __syncthreads();
    switch (id) {
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        (name)();                                                                                  \
        break;
        TEST_fence(CASE) TEST_quiet(CASE) TEST_flush_x(CASE)
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name: {                                                                              \
        nvshmemx_qp_handle_t handles[] = {NVSHMEMX_QP_DEFAULT, NVSHMEMX_QP_ANY};                   \
        (name)(pe, handles, 2);                                                                    \
        break;                                                                                     \
    }
            TEST_qp_fence_x(CASE) TEST_qp_quiet_x(CASE)
#undef CASE
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (reuse) {
            *(volatile long *)own = -1;
            LIB(fence)();
        }
        LIBX(signal_op)(signal, (uint64_t)value, VALUE(SIGNAL_SET), pe);
        out[0] = (long)LIB(signal_wait_until)(signal, VALUE(CMP_NE), 0);
        out[1] = (long)LIB(signal_fetch)(signal);
        out[2] = *(volatile long *)box;
        LIB(quiet)();
    }
}

void orders(bench *b)
{
    const row rows[] = {TEST_fence(ROW) TEST_quiet(ROW) TEST_flush_x(ROW) TEST_qp_fence_x(ROW)
                            TEST_qp_quiet_x(ROW)};
    for (const row &r : rows) {
        long value = 1000 + 10 * r.id;
        called(r.name);
        b->clear();
        LAUNCH(threads_of(r.scope), order, r.id, strstr(r.name, "fence") == nullptr, value + me,
               b->box, b->own, b->signal, next_pe, b->out);
        b->read();
        for (int i = 0; i < 3; i++)
            expect(b->seen[i] == value + last_pe,
                   std::string(r.name) + ": " + (i < 2 ? "the signal" : "the word before it") +
                       " is " + std::to_string(b->seen[i]) + ", want " +
                       std::to_string(value + last_pe));
    }
    called(TEXT(LIB(signal_wait_until)));
    called(TEXT(LIB(signal_fetch)));
}

/* ---------------------------------------------------------------------- signals */

/* The operation of a call that does not name one. */
BOTH int of_name(int id)
{
    (void)id;
#define SETS(name, T, bytes, scope) || id == id_##name
    return false TEST_signal_set(SETS) ? VALUE(SIGNAL_SET) : VALUE(SIGNAL_ADD);
#undef SETS
}

KERNEL signal_one(int id, uint64_t *signal, uint64_t v, int op, int pe)
{
    switch (id) {
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        (name)(signal, v, pe);                                                                     \
        break;
        TEST_signal_set(CASE) TEST_signal_add(CASE)
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        (name)(signal, v, op, pe);                                                                 \
        break;
            TEST_signal_op(CASE) TEST_signal_op_x(CASE)
#undef CASE
#define CASE(name, T, bytes, scope)                                                                \
    case id_##name:                                                                                \
        (name)(signal, v, op, pe, NVSHMEMX_QP_ANY);                                                \
        break;
                TEST_qp_signal_op_x(CASE)
#undef CASE
    }
    LIB(quiet)();
}

void signals(bench *b)
{
    const row rows[] = {TEST_signal_set(ROW) TEST_signal_add(ROW) TEST_signal_op(ROW)
                            TEST_signal_op_x(ROW) TEST_qp_signal_op_x(ROW)};
    const uint64_t values[] = {5, 0x123456789abcdefu, 0x80000000u};
    for (const row &r : rows) {
        bool named = strstr(r.name, "signal_op") == nullptr;
        called(r.name);
        for (int op : {(int)VALUE(SIGNAL_SET), (int)VALUE(SIGNAL_ADD)}) {
            uint64_t want = 0, have;
            b->clear();
            for (uint64_t v : values) {
                LAUNCH(1, signal_one, r.id, b->signal + 1, v, op, next_pe);
                want = (named ? of_name(r.id) : op) == VALUE(SIGNAL_SET) ? v : want + v;
            }
            LIB(barrier_all)();
            copy_memory(&have, b->signal + 1, sizeof have);
            expect(have == want, std::string(r.name) + ": the signal is " + std::to_string(have) +
                                     ", want " + std::to_string(want));
        }
    }
}

#ifdef NVSHMEM_NAMES

/* ------------------------------------------------------- what NVSHMEM alone has */

KERNEL facts(long *out, char *name, uint64_t *signal)
{
    int a = -1, b = -1, c = -1;
    nvshmem_info_get_version(&a, &b);
    out[0] = 100 * a + b;
    nvshmemx_vendor_get_version_info(&a, &b, &c);
    out[1] = 10000 * a + 100 * b + c;
    nvshmem_info_get_name(name);
    out[2] = nvshmemx_mc_ptr(WORLD, signal) == NULL;
    nvshmemx_signal_counted_reset(signal);
    out[3] = (long)nvshmem_signal_fetch(signal) + 1;
}

#ifndef ORACLE
/* Hints for NVIDIA's hardware. */
KERNEL hints(long *out)
{
    nvshmemx_region_handle_t handle = 77;
    nvshmemx_region_attrs_t attrs = NVSHMEMX_REGION_ATTRS_INITIALIZER;
    out[4] = (nvshmemx_region_start_block)(&handle, &attrs);
    out[5] = (long)handle;
    out[6] = (nvshmemx_region_start_block)(NULL, &attrs);
    int active = 77;
    out[7] = (nvshmemx_region_is_active)(NVSHMEMX_REGION_HINT_BATCH_RMA, &active);
    out[8] = active;
    out[9] = (nvshmemx_region_is_active)(NVSHMEMX_REGION_HINT_BATCH_RMA, NULL);
    out[10] = (nvshmemx_region_stop_block)(handle);
    out[11] = nvshmemx_ask_smem(NVSHMEMX_SMEM_RECOMMENDED) +
              nvshmemx_ask_smem(NVSHMEMX_SMEM_MINIMUM) +
              nvshmemx_ask_smem(NVSHMEMX_SMEM_BARRIERS_ONLY);
    long given[2] = {11, 22};
    nvshmemx_give_smem(given, sizeof given);
    out[12] = given[0] + given[1];
    nvshmemx_release_smem();
    out[13] = given[0] + given[1];
}
#endif

void own_facts(bench *b)
{
    const long want[14] = {
        103, 30800, 1,  1, 0, 0, NVSHMEMX_ERROR_INVALID_VALUE, 0, 0, NVSHMEMX_ERROR_INVALID_VALUE,
        0,   0,     33, 33};
    const char *names[14] = {"nvshmem_info_get_version",
                             "nvshmemx_vendor_get_version_info",
                             "nvshmemx_mc_ptr",
                             "nvshmemx_signal_counted_reset",
                             "nvshmemx_region_start_block",
                             "nvshmemx_region_start_block",
                             "nvshmemx_region_start_block",
                             "nvshmemx_region_is_active",
                             "nvshmemx_region_is_active",
                             "nvshmemx_region_is_active",
                             "nvshmemx_region_stop_block",
                             "nvshmemx_ask_smem",
                             "nvshmemx_give_smem",
                             "nvshmemx_release_smem"};
    b->clear();
    uint64_t counted = 12345;
    copy_memory(b->signal, &counted, sizeof counted);
    char *name = own_memory(NVSHMEM_MAX_NAME_LEN), have[NVSHMEM_MAX_NAME_LEN];
    LAUNCH(1, facts, b->out, name, b->signal);
    int count = 4;
#ifndef ORACLE
    LAUNCH(1, hints, b->out);
    count = 14;
#endif
    b->read();
    for (int i = 0; i < count; i++) {
        called(names[i]);
        expect(b->seen[i] == want[i], std::string(names[i]) + ": " + std::to_string(b->seen[i]) +
                                          ", want " + std::to_string(want[i]));
    }
    copy_memory(have, name, sizeof have);
    called("nvshmem_info_get_name");
    expect(strcmp(have, NVSHMEM_VENDOR_STRING) == 0, std::string("nvshmem_info_get_name: ") + have);
}

/* Each PE writes the round to all, and checks after the barrier that no PE is behind. */
KERNEL four_warps(long *box, int me, int pes, long *out)
{
    for (long round = 1; round <= 20; round++) {
        for (int pe = 0; threadIdx.x == 0 && pe < pes; pe++)
            nvshmem_long_p(box + me, round, pe);
        if (nvshmemx_barrier_warpgroup(WORLD) != 0 || !REFUSES(nvshmemx_barrier_warpgroup(NO_TEAM)))
            out[1] = 1;
        for (int pe = 0; threadIdx.x == 0 && pe < pes; pe++)
            out[0] += nvshmem_long_test(box + pe, NVSHMEM_CMP_GE, round);
    }
}

void warpgroup(bench *b)
{
    b->clear();
    LAUNCH(128, four_warps, b->box, me, pes, b->out);
    b->read();
    called("nvshmemx_barrier_warpgroup");
    expect(b->seen[0] == 20 * pes && b->seen[1] == 0,
           "nvshmemx_barrier_warpgroup: " + std::to_string(b->seen[0]) + " of " +
               std::to_string(20 * pes) + " words are there");
}

constexpr int PAIRS = 9000; /* more than one chunk */
double2 pair_of(int pe, int i)
{
    return {(double)((i * 13 + pe * 5) % 7), 1000.0 * pe + i};
}

KERNEL greatest(double2 *dest, const double2 *source, size_t n, long *out)
{
    if (nvshmemx_double2_maxloc_reduce_block(WORLD, dest, source, n) != 0)
        out[0] = 1;
}

void maxloc(bench *b)
{
    double2 *source = (double2 *)nvshmem_align(128, PAIRS * sizeof(double2));
    double2 *dest = (double2 *)nvshmem_align(128, PAIRS * sizeof(double2));
    std::vector<double2> made, have(PAIRS), none(PAIRS, double2{-1, -1});
    for (int i = 0; i < PAIRS; i++)
        made.push_back(pair_of(me, i));
    copy_memory(source, made.data(), PAIRS * sizeof(double2));
    called("nvshmemx_double2_maxloc_reduce_block");
#ifdef ORACLE
    const int counts[] = {1}; /* NVIDIA's uses one pair, whatever the count */
#else
    const int counts[] = {1, 77, PAIRS, 0};
#endif
    for (int n : counts) {
        copy_memory(dest, none.data(), PAIRS * sizeof(double2));
        b->clear();
        LAUNCH(threads_of(block), greatest, dest, source, (size_t)n, b->out);
        b->read();
        copy_memory(have.data(), dest, PAIRS * sizeof(double2));
        int bad = (int)b->seen[0];
        for (int i = 0; i < PAIRS; i++) {
            double2 want = i < n ? pair_of(0, i) : double2{-1, -1};
            for (int pe = 1; i < n && pe < pes; pe++)
                if (pair_of(pe, i).x >= want.x) /* of equal ones it is the later PE's */
                    want = pair_of(pe, i);
            bad += have[(size_t)i].x != want.x || have[(size_t)i].y != want.y;
        }
        expect(bad == 0, "nvshmemx_double2_maxloc_reduce_block: of " + std::to_string(n) + ", " +
                             std::to_string(bad) + " are wrong");
    }
}

#endif

KERNEL leave(int status)
{
    LIB(global_exit)(status);
}

/* Returns if the call did nothing. */
void end_job(void)
{
    called(TEXT(LIB(global_exit)));
    save_names();
    LIB(barrier_all)();
    if (me == 0)
        LAUNCH(1, leave, 7);
    LIB(barrier_all)();
    expect(false, TEXT(LIB(global_exit)) ": the job goes on");
}

void run(void)
{
    bench b;
    b.box = (long *)LIB(align)(128, WORDS * sizeof(long));
    b.signal = (uint64_t *)LIB(align)(128, WORDS * sizeof(uint64_t));
    b.own = (long *)(void *)own_memory(WORDS * sizeof(long));
    b.out = (long *)(void *)own_memory(WORDS * sizeof(long));
    identity(&b);
    orders(&b);
    signals(&b);
#ifdef NVSHMEM_NAMES
    own_facts(&b);
    warpgroup(&b);
    maxloc(&b);
#endif
}

} // namespace kernels

int main(int argc, char **argv)
{
    begin("singles");
    if (argc > 1 && strcmp(argv[1], "exit") == 0)
        kernels::end_job();
    else
        kernels::run();
    return end();
}
