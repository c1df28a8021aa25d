/*
 * stream.cu: the calls on streams: each function in each type, compared with a CPU's results.
 *
 * shmemrun -n N stream [few]
 */
#include "stream.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace
{

constexpr size_t most = 300000; /* elements: enough for all algorithms of a reduction */

/* Room for the largest type on every PE. */
struct room {
    char *source, *dest;
    uint64_t *signal;
} r;

/* PE pe's element i: small, so that sums and products are exact in every type. */
template <class T> T value(int pe, size_t i)
{
    return (T)(float)(1 + (pe + i) % 3);
}

template <class T> void fill(void *at, const std::vector<T> &v)
{
    CHECK(cudaMemcpyAsync(at, v.data(), v.size() * sizeof(T), cudaMemcpyDefault, stream));
    done();
}

template <class T> std::vector<T> values(int pe, size_t count)
{
    std::vector<T> v(count);
    for (size_t i = 0; i < count; i++)
        v[i] = value<T>(pe, i);
    return v;
}

template <class T> bool same(const std::vector<T> &a, const std::vector<T> &b)
{
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/* The functions of a type, by its name: some names are of one type in C++. */
#define BASE(name, type)                                                                           \
    struct name##_calls {                                                                          \
        typedef type T;                                                                            \
        static std::string text()                                                                  \
        {                                                                                          \
            return #name;                                                                          \
        }                                                                                          \
        static constexpr auto put = shmemx_##name##_put_on_stream;                                 \
        static constexpr auto put_nbi = shmemx_##name##_put_nbi_on_stream;                         \
        static constexpr auto get = shmemx_##name##_get_on_stream;                                 \
        static constexpr auto get_nbi = shmemx_##name##_get_nbi_on_stream;                         \
        static constexpr auto put_signal = shmemx_##name##_put_signal_on_stream;                   \
        static constexpr auto put_signal_nbi = shmemx_##name##_put_signal_nbi_on_stream;           \
        static constexpr auto broadcast = shmemx_##name##_broadcast_on_stream;                     \
        static constexpr auto fcollect = shmemx_##name##_fcollect_on_stream;                       \
        static constexpr auto alltoall = shmemx_##name##_alltoall_on_stream;                       \
        static void p(T *to, T v, int pe)                                                          \
        {                                                                                          \
            shmemx_##name##_p_on_stream(to, v, pe, stream);                                        \
        }                                                                                          \
        static T g(const T *from, int pe)                                                          \
        {                                                                                          \
            return shmemx_##name##_g_on_stream(from, pe, stream);                                  \
        }                                                                                          \
    };
#define ARITHMETIC(name)                                                                           \
    struct name##_reductions : name##_calls {                                                      \
        static constexpr auto sum = shmemx_##name##_sum_reduce_on_stream;                          \
        static constexpr auto prod = shmemx_##name##_prod_reduce_on_stream;                        \
        static constexpr auto min = shmemx_##name##_min_reduce_on_stream;                          \
        static constexpr auto max = shmemx_##name##_max_reduce_on_stream;                          \
    };
#define BITS(name)                                                                                 \
    struct name##_bits : name##_calls {                                                            \
        static constexpr auto both = shmemx_##name##_and_reduce_on_stream;                         \
        static constexpr auto any = shmemx_##name##_or_reduce_on_stream;                           \
        static constexpr auto odd = shmemx_##name##_xor_reduce_on_stream;                          \
    };
#define WAITS(name)                                                                                \
    struct name##_waits : name##_calls {                                                           \
        static constexpr auto all = shmemx_##name##_wait_until_all_on_stream;                      \
        static constexpr auto vector = shmemx_##name##_wait_until_all_vector_on_stream;            \
        static void one(T *at, int cmp, T v)                                                       \
        {                                                                                          \
            shmemx_##name##_wait_until_on_stream(at, cmp, v, stream);                              \
        }                                                                                          \
    };

#define REALS(DO) DO(float) DO(double) DO(half) DO(bfloat16)
#define BYTES(DO) DO(schar) DO(char)
#define WAITED(DO) DO(short) DO(int) DO(long) DO(longlong)
#define INTEGERS(DO)                                                                               \
    DO(uchar)                                                                                      \
    DO(ushort)                                                                                     \
    DO(uint)                                                                                       \
    DO(ulong)                                                                                      \
    DO(ulonglong)                                                                                  \
    DO(int8) DO(int16) DO(int32) DO(int64) DO(uint8) DO(uint16) DO(uint32) DO(uint64) DO(size)
#define WORDS(DO)                                                                                  \
    WAITED(DO)                                                                                     \
    DO(ushort)                                                                                     \
    DO(uint) DO(ulong) DO(ulonglong) DO(int32) DO(int64) DO(uint32) DO(uint64) DO(size) DO(ptrdiff)
#define REDUCED(DO) REALS(DO) BYTES(DO) WAITED(DO) INTEGERS(DO)

BASE(float, float)
BASE(double, double)
BASE(half, __half)
BASE(bfloat16, __nv_bfloat16)
BASE(char, char)
BASE(schar, signed char)
BASE(short, short)
BASE(int, int)
BASE(long, long)
BASE(longlong, long long)
BASE(uchar, unsigned char)
BASE(ushort, unsigned short)
BASE(uint, unsigned int)
BASE(ulong, unsigned long)
BASE(ulonglong, unsigned long long)
BASE(int8, int8_t)
BASE(int16, int16_t)
BASE(int32, int32_t)
BASE(int64, int64_t)
BASE(uint8, uint8_t)
BASE(uint16, uint16_t)
BASE(uint32, uint32_t)
BASE(uint64, uint64_t)
BASE(size, size_t)
BASE(ptrdiff, ptrdiff_t)
REDUCED(ARITHMETIC)
INTEGERS(BITS)
WORDS(WAITS)

/* --------------------------------------------------- one PE with another */

/* Each of two PEs of a pair waits for the other's signal before it checks. */
template <class C> void moves()
{
    typedef typename C::T T;
    const int next = (me + 1) % n, before = (me + n - 1) % n;
    T *source = (T *)r.source, *dest = (T *)r.dest;
    const std::string text = C::text();
    for (size_t count : {(size_t)1, (size_t)1000}) {
        fill(source, values<T>(me, count));
        shmemx_barrier_all_on_stream(stream);
        C::put(dest, source, count, next, stream);
        C::put_nbi(dest + count, source, count, next, stream);
        shmemx_quiet_on_stream(stream);
        shmemx_signal_op_on_stream(r.signal, 1, SHMEM_SIGNAL_ADD, next, stream);
        shmemx_signal_wait_until_on_stream(r.signal, SHMEM_CMP_GE, 1, stream);
        expect(text + " put", same(have<T>(dest, count), values<T>(before, count)));
        expect(text + " put_nbi", same(have<T>(dest + count, count), values<T>(before, count)));
        C::get(dest, source, count, next, stream);
        C::get_nbi(dest + count, source, count, next, stream);
        shmemx_quiet_on_stream(stream);
        expect(text + " get", same(have<T>(dest, count), values<T>(next, count)));
        expect(text + " get_nbi", same(have<T>(dest + count, count), values<T>(next, count)));
        shmemx_barrier_all_on_stream(stream);

        C::put_signal(dest, source, count, r.signal, 7, SHMEM_SIGNAL_SET, next, stream);
        shmemx_signal_wait_until_on_stream(r.signal, SHMEM_CMP_EQ, 7, stream);
        expect(text + " put_signal", same(have<T>(dest, count), values<T>(before, count)));
        shmemx_barrier_all_on_stream(stream);
        C::put_signal_nbi(dest + count, source, count, r.signal, 2, SHMEM_SIGNAL_ADD, next, stream);
        shmemx_signal_wait_until_on_stream(r.signal, SHMEM_CMP_NE, 7, stream);
        expect(text + " put_signal_nbi",
               same(have<T>(dest + count, count), values<T>(before, count)));
        shmemx_quiet_on_stream(stream);
        shmemx_barrier_all_on_stream(stream);
        shmemx_signal_op_on_stream(r.signal, 0, SHMEM_SIGNAL_SET, next, stream);
        shmemx_barrier_all_on_stream(stream);
    }
    C::p(dest + 3, value<T>(me, 1), next);
    shmemx_barrier_all_on_stream(stream);
    expect(text + " p", same(have<T>(dest + 3, 1), std::vector<T>{value<T>(before, 1)}));
    expect(text + " g", same(std::vector<T>{C::g(source, next)}, values<T>(next, 1)));
    shmemx_sync_all_on_stream(stream);
    done();
}

/* ----------------------------------------------------------- collectives */

template <class C> void exchanges()
{
    typedef typename C::T T;
    T *source = (T *)r.source, *dest = (T *)r.dest;
    const std::string text = C::text();
    for (size_t count : {(size_t)1, (size_t)1001, most / n}) {
        std::vector<T> all, blocks;
        for (int pe = 0; pe < n; pe++) {
            for (const T &v : values<T>(pe, count))
                all.push_back(v);
            std::vector<T> theirs = values<T>(pe, count * n);
            blocks.insert(blocks.end(), theirs.begin() + me * count,
                          theirs.begin() + (me + 1) * count);
        }
        fill(source, values<T>(me, count * n));
        shmemx_barrier_all_on_stream(stream);
        expect(text + " broadcast's status",
               C::broadcast(SHMEM_TEAM_WORLD, dest, source, count, n - 1, stream) == 0);
        expect(text + " broadcast", same(have<T>(dest, count), values<T>(n - 1, count)));
        shmemx_barrier_all_on_stream(stream);
        C::fcollect(SHMEM_TEAM_WORLD, dest, source, count, stream);
        expect(text + " fcollect", same(have<T>(dest, count * n), all));
        shmemx_barrier_all_on_stream(stream);
        C::alltoall(SHMEM_TEAM_WORLD, dest, source, count, stream);
        expect(text + " alltoall", same(have<T>(dest, count * n), blocks));
        shmemx_barrier_all_on_stream(stream);
    }
}

template <class T, class F> void reduction(const std::string &text, F reduce, T (*of)(T, T))
{
    for (size_t count : {(size_t)1, (size_t)7, (size_t)1000, most - 1})
        for (size_t skew : {0, 1}) {
            T *source = (T *)r.source + skew, *dest = (T *)r.dest + skew;
            std::vector<T> want = values<T>(0, count);
            for (int pe = 1; pe < n; pe++) {
                std::vector<T> theirs = values<T>(pe, count);
                for (size_t i = 0; i < count; i++)
                    want[i] = of(want[i], theirs[i]);
            }
            fill(source, values<T>(me, count));
            expect(text + "'s status", reduce(SHMEM_TEAM_WORLD, dest, source, count, stream) == 0);
            expect(text + " of " + std::to_string(count), same(have<T>(dest, count), want));
            shmemx_barrier_all_on_stream(stream);
            reduce(SHMEM_TEAM_WORLD, source, source, count, stream);
            expect(text + " in place", same(have<T>(source, count), want));
            shmemx_barrier_all_on_stream(stream);
        }
}

/* Arithmetic of the types that a CPU has no instructions for is that of float. */
template <class T> T add(T a, T b)
{
    return (T)((T)a + (T)b);
}
template <> __half add(__half a, __half b)
{
    return (__half)((float)a + (float)b);
}
template <> __nv_bfloat16 add(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return (__nv_bfloat16)((float)a + (float)b);
}
template <class T> T multiply(T a, T b)
{
    return (T)(a * b);
}
template <> __half multiply(__half a, __half b)
{
    return (__half)((float)a * (float)b);
}
template <> __nv_bfloat16 multiply(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return (__nv_bfloat16)((float)a * (float)b);
}
template <class T> T least(T a, T b)
{
    return (float)b < (float)a ? b : a;
}
template <class T> T greatest(T a, T b)
{
    return (float)b > (float)a ? b : a;
}

template <class C> void reductions()
{
    typedef typename C::T T;
    reduction<T>(C::text() + " sum", C::sum, add<T>);
    reduction<T>(C::text() + " prod", C::prod, multiply<T>);
    reduction<T>(C::text() + " min", C::min, least<T>);
    reduction<T>(C::text() + " max", C::max, greatest<T>);
}

template <class C> void bits()
{
    typedef typename C::T T;
    reduction<T>(C::text() + " and", C::both, [](T a, T b) { return (T)(a & b); });
    reduction<T>(C::text() + " or", C::any, [](T a, T b) { return (T)(a | b); });
    reduction<T>(C::text() + " xor", C::odd, [](T a, T b) { return (T)(a ^ b); });
}

/* --------------------------------------------------------------- waiting */

template <class C> void waits()
{
    typedef typename C::T T;
    const int next = (me + 1) % n;
    T *words = (T *)r.dest, *values = (T *)r.source;
    int *skip = (int *)(r.source + 1024);
    const size_t count = 40;
    CHECK(cudaMemsetAsync(words, 0, count * sizeof(T), stream));
    fill(values, std::vector<T>(count, (T)3));
    fill(skip, std::vector<int>(count, 0));
    CHECK(cudaMemsetAsync(skip + 5, 1, sizeof(int), stream));
    shmemx_barrier_all_on_stream(stream);
    for (size_t i = 0; i < count; i++)
        if (i != 5)
            C::p(words + i, (T)3, next);
    C::all(words, count, skip, SHMEM_CMP_EQ, (T)3, stream);
    C::all(words, 5, nullptr, SHMEM_CMP_GT, (T)2, stream);
    C::vector(words, count, skip, SHMEM_CMP_GE, values, stream);
    C::one(words, SHMEM_CMP_EQ, (T)3);
    C::one(words, SHMEM_CMP_NE, (T)4);
    C::one(words, SHMEM_CMP_LE, (T)3);
    C::one(words, SHMEM_CMP_LT, (T)4);
    std::vector<T> want(count, (T)3);
    want[5] = 0;
    expect(C::text() + " wait_until", same(have<T>(words, count), want));
    shmemx_barrier_all_on_stream(stream);
}

/* ---------------------------------------------------------- notifications */

void notifications()
{
    const int next = (me + 1) % n, before = (me + n - 1) % n, counter = shmemx_notify_alloc(2);
    uint8_t *source = (uint8_t *)r.source, *dest = (uint8_t *)r.dest;
    uint64_t puts = 0;
    for (size_t bytes : {(size_t)1, (size_t)16, (size_t)5000, most}) {
        fill(source, values<uint8_t>(me, bytes));
        shmemx_barrier_all_on_stream(stream);
        shmemx_putmem_notify_on_stream(dest, source, bytes, counter, next, stream);
        shmemx_putmem_notify_nbi_on_stream(dest + bytes, source, bytes, counter, next, stream);
        shmemx_notify_wait_on_stream(counter, puts += 2, stream);
        expect("putmem_notify", same(have<uint8_t>(dest, bytes), values<uint8_t>(before, bytes)));
        expect("putmem_notify_nbi",
               same(have<uint8_t>(dest + bytes, bytes), values<uint8_t>(before, bytes)));
        expect("a counter", shmemx_notify_fetch(counter) == puts);
        shmemx_quiet_on_stream(stream);
        shmemx_barrier_all_on_stream(stream);
    }
    shmemx_putmem_notify_on_stream(NULL, NULL, 0, counter + 1, next, stream);
    shmemx_notify_wait_on_stream(counter + 1, 1, stream);
    shmemx_notify_reset_on_stream(counter, 70, stream);
    shmemx_barrier_all_on_stream(stream);
    shmemx_putmem_notify_on_stream(dest, source, 8, counter, next, stream);
    shmemx_notify_wait_on_stream(counter, 71, stream);
    done();
    expect("a counter that the stream has set", shmemx_notify_fetch(counter) == 71);
    expect("a notification alone", shmemx_notify_fetch(counter + 1) == 1);
    shmem_barrier_all();
    shmemx_notify_free(counter);
}

} // namespace

int main(int argc, char **argv)
{
    begin();
    r.source = (char *)shmem_calloc(most + 1, sizeof(double));
    r.dest = (char *)shmem_calloc(most + 1, sizeof(double));
    r.signal = (uint64_t *)shmem_calloc(1, sizeof(uint64_t));
    shmem_barrier_all();

#define MOVES(name)                                                                                \
    moves<name##_calls>();                                                                         \
    exchanges<name##_calls>();
#define REDUCTIONS(name) reductions<name##_reductions>();
#define EACH_BITS(name) bits<name##_bits>();
#define EACH_WAITS(name) waits<name##_waits>();
    notifications();
    if (argc > 1 && strcmp(argv[1], "few") == 0) {
        MOVES(int)
        REDUCTIONS(float)
        REDUCTIONS(half)
        EACH_BITS(uint8)
        EACH_WAITS(int)
    } else {
        REDUCED(MOVES)
        MOVES(ptrdiff)
        REDUCED(REDUCTIONS)
        INTEGERS(EACH_BITS)
        WORDS(EACH_WAITS)
    }
    return end();
}
