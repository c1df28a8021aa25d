/*
 * streamteams.cu: collectives on streams, on teams: with each algorithm of the host, on teams that
 * have PEs in common, each on its own stream, and in a graph.
 *
 * shmemrun -n N streamteams
 */
#include "stream.h"

namespace
{

constexpr size_t most = 200000; /* elements of a reduction; enough for many blocks */

struct room {
    float *source, *dest;
} r;

float value(int pe, size_t i)
{
    return (float)(1 + (pe * 5 + (int)(i % 1000)) % 7);
}

std::vector<int> members(shmem_team_t team)
{
    std::vector<int> all;
    for (int rank = 0; rank < shmem_team_n_pes(team); rank++)
        all.push_back(shmem_team_translate_pe(team, rank, SHMEM_TEAM_WORLD));
    return all;
}

float sum_of(const std::vector<int> &all, size_t i)
{
    float sum = 0;
    for (int pe : all)
        sum += value(pe, i);
    return sum;
}

/* Of a size, in place or not, on a stream. All PEs make this call, members or not. */
void exercise(const std::string &name, shmem_team_t team, size_t count)
{
    const std::vector<int> all = members(team);
    const size_t pes = all.size(), each = count / (size_t)n, rank = (size_t)shmem_team_my_pe(team);
    const std::string what = name + ", " + std::to_string(count) + " elements: ";
    shmem_barrier_all();
    if (team == SHMEM_TEAM_INVALID)
        return;
    expect(what + "sum",
           shmemx_float_sum_reduce_on_stream(team, r.dest, r.source, count, stream) == 0);
    std::vector<float> v = have<float>(r.dest, count);
    size_t bad = 0;
    for (size_t i = 0; i < count; i++)
        bad += v[i] != sum_of(all, i);
    expect(what + "sum: wrong elements " + std::to_string(bad), bad == 0);
    expect(what + "sync", shmemx_team_sync_on_stream(team, stream) == 0);

    const int root = (int)(count % pes);
    expect(what + "broadcast",
           shmemx_float_broadcast_on_stream(team, r.dest, r.source, count, root, stream) == 0);
    v = have<float>(r.dest, count);
    bad = 0;
    for (size_t i = 0; i < count; i++)
        bad += v[i] != value(all[(size_t)root], i);
    expect(what + "broadcast: wrong elements " + std::to_string(bad), bad == 0);
    expect(what + "barrier", shmemx_barrier_on_stream(team, stream) == 0);

    expect(what + "fcollect",
           shmemx_float_fcollect_on_stream(team, r.dest, r.source, each, stream) == 0);
    v = have<float>(r.dest, each * pes);
    bad = 0;
    for (size_t i = 0; i < each * pes; i++)
        bad += v[i] != value(all[i / each], i % each);
    expect(what + "fcollect: wrong elements " + std::to_string(bad), bad == 0);
    expect(what + "barrier", shmemx_barrier_on_stream(team, stream) == 0);

    expect(what + "alltoall",
           shmemx_float_alltoall_on_stream(team, r.dest, r.source, each, stream) == 0);
    v = have<float>(r.dest, each * pes);
    bad = 0;
    for (size_t i = 0; i < each * pes; i++)
        bad += v[i] != value(all[i / each], rank * each + i % each);
    expect(what + "alltoall: wrong elements " + std::to_string(bad), bad == 0);
    done();
}

/* Sums over rows, whose sums over columns are sums over all, in a graph. */
void overlap(int replays)
{
    shmem_team_t row, column;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    expect("rows of two",
           shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, nullptr, 0, &row, nullptr, 0, &column) == 0);
    const size_t count = 1000;
    float *between = r.dest + count;
    shmem_barrier_all();
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    shmemx_float_sum_reduce_on_stream(row, between, r.source, count, stream);
    shmemx_float_sum_reduce_on_stream(column, r.dest, between, count, stream);
    shmemx_barrier_all_on_stream(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < replays; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    const std::vector<float> v = have<float>(r.dest, count);
    const std::vector<int> mates = members(column);
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        float want = 0;
        for (int pe : mates)
            for (int mate = pe & ~1; mate < n && mate <= (pe | 1); mate++)
                want += value(mate, i);
        bad += v[i] != want;
    }
    expect("rows and columns: wrong elements " + std::to_string(bad), bad == 0);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    shmem_barrier_all();
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}

/* Two teams of the same PEs, each on its own stream, without an order between them. */
void side_by_side(int rounds)
{
    cudaStream_t other;
    shmem_team_t one, two;
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    expect("a team", shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &one) == 0);
    expect("another",
           shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &two) == 0);
    const std::vector<int> all = members(one);
    const size_t count = 3000;
    float *theirs = r.dest + most / 2;
    shmem_barrier_all();
    for (int i = 0; i < rounds; i++) {
        shmemx_float_sum_reduce_on_stream(one, r.dest, r.source, count, stream);
        shmemx_float_sum_reduce_on_stream(two, theirs, r.source, count, other);
    }
    CHECK(cudaStreamSynchronize(other));
    const std::vector<float> a = have<float>(r.dest, count), b = have<float>(theirs, count);
    size_t bad = 0;
    for (size_t i = 0; i < count; i++)
        bad += (a[i] != sum_of(all, i)) + (b[i] != sum_of(all, i));
    expect("side by side: wrong elements " + std::to_string(bad), bad == 0);
    CHECK(cudaStreamDestroy(other));
    shmem_barrier_all();
    shmem_team_destroy(one);
    shmem_team_destroy(two);
}

} // namespace

int main(void)
{
    begin();
    r.source = (float *)shmem_calloc(most, sizeof(float));
    r.dest = (float *)shmem_calloc(most, sizeof(float));
    std::vector<float> mine(most);
    for (size_t i = 0; i < most; i++)
        mine[i] = value(me, i);
    CHECK(cudaMemcpyAsync(r.source, mine.data(), most * sizeof(float), cudaMemcpyDefault, stream));
    done();

    shmem_team_t turned, even, last;
    expect("all, turned",
           shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &turned) == 0);
    expect("the even ones",
           shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, nullptr, 0, &even) == 0);
    expect("the last one",
           shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, 1, 1, nullptr, 0, &last) == 0);
    for (size_t count : {(size_t)n, (size_t)500, (size_t)4000, most}) {
        exercise("the node", SHMEM_TEAM_SHARED, count);
        exercise("all, turned", turned, count);
        exercise("the even ones", even, count);
        exercise("the last one", last, count);
    }
    stage("shapes");
    overlap(20);
    side_by_side(20);
    shmem_team_destroy(turned);
    shmem_team_destroy(even);
    shmem_team_destroy(last);
    return end();
}
