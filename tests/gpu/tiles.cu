/*
 * tiles.cu: the calls of NVSHMEM on tiles: each in every scope, and some in more types, layouts and
 * boundaries. Afterwards the memory of each PE is compared with a model that goes element by
 * element.
 *
 * shmemrun -n 2 tiles
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            printf("PE %d: %s: %s\n", me, #call, cudaGetErrorString(error));                       \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)
static int passed, failed, me, n;

#ifndef EMULATED
#include <cuda_runtime.h>
static cudaStream_t stream;
#endif
#include "tiles.h"

/* No boundary. Programs use a type of this kind. */
struct none {
};

namespace
{

void copy_memory(void *to, const void *from, size_t bytes)
{
#ifdef EMULATED
    memcpy(to, from, bytes);
#else
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
#endif
}

template <class T> T number(float v)
{
    return (T)v;
}
template <> __half number<__half>(float v)
{
    return __float2half_rn(v);
}
template <class T> float value(T v)
{
    return (float)v;
}
template <> float value<__half>(__half v)
{
    return __half2float(v);
}

/* Element i of a PE's source: sums over a few PEs are exact in every type. */
float pattern(int pe, size_t i)
{
    return (float)(1 + (i * 7 + (size_t)pe * 3) % 11);
}
constexpr float BEFORE = 100; /* in a destination */

/* A tile, as the model has it: in elements from the start of its array. */
struct box {
    int64_t n[3], step[3], at;
    int64_t limit[3]; /* the valid part of each dimension */
};

int64_t place(const box &b, const int64_t *i)
{
    return b.at + i[0] * b.step[0] + i[1] * b.step[1] + i[2] * b.step[2];
}

template <class F> void each(const box &b, F visit)
{
    int64_t i[3];
    for (i[0] = 0; i[0] < b.n[0]; i[0]++)
        for (i[1] = 0; i[1] < b.n[1]; i[1]++)
            for (i[2] = 0; i[2] < b.n[2]; i[2]++)
                if (i[0] < b.limit[0] && i[1] < b.limit[1] && i[2] < b.limit[2])
                    visit(i);
}

template <class T> struct arrays {
    size_t size;
    T *source, *dest;
    std::vector<T> given, want, have;
    explicit arrays(size_t s)
        : size(s), source((T *)nvshmem_malloc(s * sizeof(T))),
          dest((T *)nvshmem_malloc(s * sizeof(T)))
    {
        for (size_t i = 0; i < size; i++)
            given.push_back(number<T>(pattern(me, i)));
        copy_memory(source, given.data(), size * sizeof(T));
        want.assign(size, number<T>(BEFORE));
        copy_memory(dest, want.data(), size * sizeof(T));
        nvshmem_barrier_all();
    }
    /* Counts the elements that differ from want. */
    size_t wrong()
    {
        nvshmem_barrier_all();
        have.resize(size);
        copy_memory(have.data(), dest, size * sizeof(T));
        size_t bad = 0;
        for (size_t i = 0; i < size; i++)
            bad += value(have[i]) != value(want[i]);
        nvshmem_free(source);
        nvshmem_free(dest);
        return bad;
    }
};

float greater(float a, float b)
{
    return a > b ? a : b;
}
float less(float a, float b)
{
    return a < b ? a : b;
}

/* A destination's element after an operation on the sources' element at. */
float after(op o, nvshmem_team_t team, int root, int64_t at)
{
    int last = (me + n - 1) % n, next = (me + 1) % n;
    if (o == PUT || o == GET)
        return pattern(o == PUT ? last : next, (size_t)at);
    if (o == BROADCAST)
        return pattern(nvshmem_team_translate_pe(team, root, NVSHMEM_TEAM_WORLD), (size_t)at);
    float all = 0;
    for (int i = 0; i < nvshmem_team_n_pes(team); i++) {
        float v = pattern(nvshmem_team_translate_pe(team, i, NVSHMEM_TEAM_WORLD), (size_t)at);
        all = i == 0 ? v : o >= MIN ? less(all, v) : o >= MAX ? greater(all, v) : all + v;
    }
    return all;
}

int *answer;
void expect(const std::string &what, int scope, size_t bad)
{
    int got = -1;
    copy_memory(&got, answer, sizeof got);
    (bad == 0 && got == 0 ? passed : failed)++;
    if (bad != 0 || got != 0)
        printf("PE %d: %s, scope %d: %zu wrong elements, it answers %d\n", me, what.c_str(), scope,
               bad, got);
}

bool rooted(op o)
{
    return o == SUM_ROOTED || o == MAX_ROOTED || o == MIN_ROOTED;
}

const char *const names[] = {
    "put",           "get",        "sum", "older sum",     "sum by a root", "rooted sum", "max",
    "max by a root", "rooted max", "min", "min by a root", "rooted min",    "broadcast"};

/*
 * Runs a call and compares. src and dst are the tensors' descriptions of the same tile in the
 * layouts from and to.
 */
template <class T, int SCOPE, bool ALL, class FROM, class TO, class BOUND>
void run(const std::string &what, op o, nvshmem_team_t team, FROM from, TO to, BOUND start,
         BOUND bound, const box &src, const box &dst, size_t room)
{
    arrays<T> a(room);
    int root = o == PUT || o == GET ? (me + 1) % n : nvshmem_team_n_pes(team) - 1;
    if (!rooted(o) || nvshmem_team_my_pe(team) == root)
        each(src, [&](const int64_t *i) {
            a.want[(size_t)place(dst, i)] = number<T>(after(o, team, root, place(src, i)));
        });
    nvshmemx::Tensor<T, FROM> source(a.source + src.at, from);
    nvshmemx::Tensor<T, TO> dest(a.dest + dst.at, to);
    auto kernel = call<SCOPE, ALL, nvshmemx::Tensor<T, FROM>, nvshmemx::Tensor<T, TO>, BOUND>;
    LAUNCH(threads_of(SCOPE), kernel, o, team, source, dest, start, bound, root, answer);
    expect(what + ": " + names[o], SCOPE, a.wrong());
}

/* Rows with different distances on the two sides, cut by a boundary at odd places. */
template <int SCOPE> void each_name(nvshmem_team_t team)
{
    auto layout = [](int64_t step) {
        return nvshmemx::make_layout(nvshmemx::make_shape((int64_t)19, (int64_t)22),
                                     nvshmemx::make_stride(step, ConstInt<1>{}));
    };
    auto start = nvshmemx::make_shape(100, 200), bound = nvshmemx::make_shape(117, 221);
    box src = {{19, 22, 1}, {40, 1, 0}, 5, {17, 21, 1}}, dst = {{}, {36, 1, 0}, 3, {}};
    for (int o = PUT; o <= BROADCAST; o++)
        run<float, SCOPE, true>("rows", (op)o, team, layout(40), layout(36), start, bound, src, dst,
                                1000);
}

/* Put, get and sum in another type, layout or boundary, by a block. */
template <class T, class FROM, class TO, class BOUND>
void shape(const char *what, FROM from, TO to, BOUND start, BOUND bound, const box &src,
           const box &dst, size_t room)
{
    for (op o : {PUT, GET, SUM})
        run<T, by_block, false>(what, o, NVSHMEM_TEAM_WORLD, from, to, start, bound, src, dst,
                                room);
}

void shapes()
{
    using namespace nvshmemx;
    ConstInt<1> one;
    box src, dst;

    /* Contiguous columns, wide words, and no boundary. */
    src = {{64, 12, 1}, {1, 80, 0}, 16, {64, 12, 1}}, dst = {{}, {1, 64, 0}, 0, {}};
    shape<__half>("columns", make_layout(make_shape(64, 12), make_stride(one, 80)),
                  make_layout(make_shape(64, 12), make_stride(one, 64)), none{}, none{}, src, dst,
                  2000);

    /* Strides that are known at run time only; a boundary of the first dimension. */
    auto rows = [](int step) { return make_layout(make_shape(9, 31), make_stride(step, 1)); };
    src = {{9, 31, 1}, {31, 1, 0}, 0, {4, 31, 1}}, dst = {{}, {50, 1, 0}, 7, {}};
    shape<double>("run-time strides", rows(31), rows(50), make_shape(3), make_shape(7), src, dst,
                  600);
    src.limit[0] = 0;
    shape<double>("all outside", rows(31), rows(50), make_shape(8), make_shape(7), src, dst, 600);

    /* No dimension is contiguous. */
    src = {{7, 6, 1}, {60, 2, 0}, 1, {7, 5, 1}}, dst = {{}, {3, 70, 0}, 0, {}};
    shape<float>("elements", make_layout(make_shape(7, 6), make_stride(60, 2)),
                 make_layout(make_shape(7, 6), make_stride(3, 70)), make_shape(0, 0),
                 make_shape(7, 5), src, dst, 600);

    /* One dimension, and three of which two are one in memory. */
    src = {{777, 1, 1}, {1, 0, 0}, 3, {500, 1, 1}}, dst = {{}, {1, 0, 0}, 1, {}};
    shape<__half>("a line", make_layout(make_shape(777), make_stride(one)),
                  make_layout(make_shape(777), make_stride(one)), make_shape(0), make_shape(500),
                  src, dst, 1000);
    src = {{4, 5, 8}, {50, 8, 1}, 0, {4, 5, 8}}, dst = {{}, {40, 8, 1}, 0, {}};
    shape<float>("a cube",
                 make_layout(make_shape(4, 5, 8), make_stride(50, ConstInt<8>{}, ConstInt<1>{})),
                 make_layout(make_shape(4, 5, 8), make_stride(40, ConstInt<8>{}, ConstInt<1>{})),
                 make_shape(0, 0, 0), make_shape(4, 5, 8), src, dst, 400);

    /* More than the buffer that rows are fetched into: whole rows, and one row. */
    src = {{180, 190, 1}, {192, 1, 0}, 0, {180, 189, 1}}, dst = {{}, {190, 1, 0}, 0, {}};
    shape<float>("many rows", make_layout(make_shape(180, 190), make_stride(192, one)),
                 make_layout(make_shape(180, 190), make_stride(190, one)), make_shape(0, 0),
                 make_shape(180, 189), src, dst, 40000);
    src = {{180, 190, 1}, {190, 1, 0}, 1, {180, 190, 1}}, dst = {{}, {190, 1, 0}, 1, {}};
    shape<float>("one long row", make_layout(make_shape(180, 190), make_stride(190, one)),
                 make_layout(make_shape(180, 190), make_stride(190, one)), none{}, none{}, src, dst,
                 40000);
}

/*
 * The parts of all PEs side by side, below each other, and in two columns if their number is even.
 */
template <int SCOPE> void gathered()
{
    using namespace nvshmemx;
    ConstInt<1> one;
    for (int across : {1, n, n % 2 == 0 ? n / 2 : 1}) {
        const int high = 5, wide = 6, whole = wide * across;
        arrays<float> a((size_t)(high * wide * n));
        Tensor from(a.source, make_layout(make_shape(high, wide), make_stride(wide, one)));
        Tensor to(a.dest,
                  make_layout(make_shape(high * n / across, whole), make_stride(whole, one)));
        for (int pe = 0; pe < n; pe++)
            for (int i = 0; i < high; i++)
                for (int k = 0; k < wide - 1; k++)
                    a.want[(size_t)((pe / across * high + i) * whole + pe % across * wide + k)] =
                        pattern(pe, (size_t)(i * wide + k));
        auto bound = make_shape(high, wide - 1);
        auto kernel = call<SCOPE, true, decltype(from), decltype(to), decltype(bound)>;
        LAUNCH(threads_of(SCOPE), kernel, ALLGATHER, NVSHMEM_TEAM_WORLD, from, to, make_shape(0, 0),
               bound, 0, answer);
        expect("allgather", SCOPE, a.wrong());
    }
}

/*
 * Differences behind a name: tile_sum_reduce gives all PEs the sum, as tile_sum_allreduce did with
 * NVSHMEM 3.4, and tile_sum_rooted_reduce only the root.
 */
void sem12()
{
    auto layout =
        nvshmemx::make_layout(nvshmemx::make_shape(2, 2), nvshmemx::make_stride(2, ConstInt<1>{}));
    box all = {{2, 2, 1}, {2, 1, 0}, 0, {2, 2, 1}};
    for (op o : {SUM, SUM_ROOTED, SUM_OLDER})
        run<float, by_warp, true>("sem12", o, NVSHMEM_TEAM_WORLD, layout, layout, none{}, none{},
                                  all, all, 4);
}

void in_turn_with_arrays()
{
    const int count = 3000;
    auto layout = nvshmemx::make_layout(nvshmemx::make_shape(1, count),
                                        nvshmemx::make_stride(count, ConstInt<1>{}));
    arrays<float> tiles((size_t)count), other((size_t)count);
    float sum = 0, sum_of_other = 0;
    for (int pe = 0; pe < n; pe++) {
        sum += (float)(pe + 1);
        sum_of_other += (float)(10 * pe + 5);
    }
    std::vector<float> mine((size_t)count, (float)(me + 1)), theirs((size_t)count, 10.f * me + 5);
    copy_memory(tiles.source, mine.data(), count * sizeof(float));
    copy_memory(other.source, theirs.data(), count * sizeof(float));
    tiles.want.assign((size_t)count, sum);
    other.want.assign((size_t)count, sum_of_other);
    int good = 0;
    copy_memory(answer, &good, sizeof good);
    nvshmem_barrier_all();
    nvshmemx::Tensor from(tiles.source, layout), to(tiles.dest, layout);
    LAUNCH(threads_of(by_block), in_turn, from, to, other.source, other.dest, count, sum,
           sum_of_other, answer);
    expect("tiles in turn with arrays", by_block, tiles.wrong() + other.wrong());
}

void other_types()
{
    arrays<float> a(100);
    box src = {{5, 7, 1}, {10, 1, 0}, 2, {4, 7, 1}}, dst = {{}, {9, 1, 0}, 1, {}};
    theirs::tensor from = {a.source + 2, {5, 7}, {10, 1}}, to = {a.dest + 1, {5, 7}, {9, 1}};
    each(src, [&](const int64_t *i) {
        a.want[(size_t)place(dst, i)] = after(SUM, NVSHMEM_TEAM_WORLD, 0, place(src, i));
    });
    theirs::pair start = {3, 3}, bound = {7, 20};
    auto kernel = call<by_block, false, theirs::tensor, theirs::tensor, theirs::pair>;
    LAUNCH(threads_of(by_block), kernel, SUM, NVSHMEM_TEAM_WORLD, from, to, start, bound, 0,
           answer);
    expect("types of another library", by_block, a.wrong());
}

void by_scopes(nvshmem_team_t team)
{
    each_name<by_thread>(team);
    each_name<by_warp>(team);
    each_name<by_warpgroup>(team);
    each_name<by_block>(team);
}

} // namespace

int main(int argc, char **argv)
{
    nvshmem_init();
    me = nvshmem_my_pe();
    n = nvshmem_n_pes();
#ifdef EMULATED
    emulated_begin();
#else
    int gpus;
    CHECK(cudaGetDeviceCount(&gpus));
    CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#endif
    answer = (int *)nvshmem_malloc(sizeof(int));
    sem12();
    if (argc < 2 || strcmp(argv[1], "sem12") != 0) {
        by_scopes(NVSHMEM_TEAM_WORLD);
#ifndef EMULATED /* a team's buffer is a sixteenth */
        nvshmem_team_t back;
        nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &back);
        if (back != NVSHMEM_TEAM_INVALID)
            by_scopes(back);
#endif
        shapes();
        other_types();
        in_turn_with_arrays();
        gathered<by_thread>();
        gathered<by_warp>();
        gathered<by_warpgroup>();
        gathered<by_block>();
    }
    nvshmem_barrier_all();
    printf("tiles: %d passed, %d failed\n", passed, failed);
    nvshmem_finalize();
    return failed != 0;
}
