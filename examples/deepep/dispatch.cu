/*
 * dispatch: mixture of experts over the calls of DeepEP V1 kernels (ibgda_device.cuh). Each token
 * goes to its experts, which are spread over all PEs, and each expert returns a result; every word
 * of every token and result is checked, for 8 experts and for 64.
 *
 *   dispatch NUMBER HOW_MANY FILE [TOKENS [ROUNDS]]
 *
 * starts PE NUMBER of HOW_MANY, which find each other by a unique id in FILE.
 */
#include "../nvshmem/check.h"
#include "moe.cuh"

#include <algorithm>
#include <string>
#include <unistd.h>
#include <vector>

constexpr int BLOCKS = 16, THREADS = 256, TOP = 2, WORDS = 1792; /* 7 KiB for each token */

/* The kernels that main launches. Their code is in moe.cuh, which tests also compile for threads of
 * the host. */
__global__ void dispatch(struct moe m)
{
    moe_dispatch(m);
}
__global__ void combine(struct moe m)
{
    moe_combine(m);
}

template <class T> static T *local(size_t count)
{
    T *at;
    CHECK(cudaMalloc((void **)&at, count * sizeof(T)));
    return at;
}

template <class T> static T *symmetric(size_t count)
{
    T *at = (T *)nvshmem_align(128, count * sizeof(T));
    if (at == NULL) {
        fprintf(stderr, "dispatch: %zu bytes of symmetric memory are not there\n",
                count * sizeof(T));
        nvshmem_global_exit(EXIT_FAILURE);
    }
    return at;
}

/* Sets the variables that programs with DeepEP V1 kernels set. Those that the user has set stay. */
static void set_variables(int queues)
{
    setenv("NVSHMEM_DISABLE_P2P", "0", 0);
    setenv("NVSHMEM_IB_ENABLE_IBGDA", "1", 0);
    setenv("NVSHMEM_IBGDA_NUM_RC_PER_PE", std::to_string(queues).c_str(), 0);
    setenv("NVSHMEM_QP_DEPTH", "1024", 0);
    setenv("NVSHMEM_MAX_TEAMS", "7", 0);
    setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
    setenv("NVSHMEM_CUMEM_GRANULARITY", "536870912", 0);
    setenv("NVSHMEM_DISABLE_MNNVL", "1", 0);
}

/* Makes this process PE `number` of `all`. Every PE makes a unique id, and all use that of PE 0,
 * which they read from the file. */
static void meet(int number, int all, const std::string &file)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    bool good = nvshmemx_get_uniqueid(&id) == 0;
    FILE *f;
    if (good && number == 0) { /* rename: others find a complete file, or none */
        f = fopen((file + ".part").c_str(), "wb");
        good = f != NULL && fwrite(&id, sizeof id, 1, f) == 1 && fclose(f) == 0 &&
               rename((file + ".part").c_str(), file.c_str()) == 0;
    } else if (good) {
        while ((f = fopen(file.c_str(), "rb")) == NULL)
            usleep(10000);
        good = fread(&id, sizeof id, 1, f) == 1;
        fclose(f);
    }
    if (!good)
        perror(file.c_str());
    nvshmemx_set_attr_uniqueid_args(number, all, &id, &attr);
    if (!good || nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        exit(EXIT_FAILURE);
}

/* The memory for rounds with a given number of experts. m holds pointers to all of it; expert,
 * place and count are m's members of these names, which the kernels may not write. */
struct buffers {
    struct moe m = {};
    int *expert, *place, *count, *acks;

    buffers(int me, int n, int experts, int tokens)
    {
        m.me = me, m.n = n, m.experts = experts, m.local = experts / n;
        m.tokens = tokens, m.top = TOP, m.words = WORDS;
        m.capacity = 0;
        m.expert = expert = local<int>((size_t)tokens * TOP);
        m.place = place = local<int>((size_t)tokens * TOP);
        m.count = count = local<int>(experts);
        m.sent = local<int>(experts);
        m.result = local<unsigned>(3);
        /* No PE sends more to an expert than this in any round: route() checks it. */
        m.capacity = 2 * tokens * TOP / experts + 64;
        size_t slots = (size_t)m.local * n * m.capacity;
        m.out = symmetric<uint32_t>((size_t)tokens * WORDS);
        m.in = symmetric<uint32_t>(slots * WORDS);
        m.made = symmetric<uint32_t>(slots * WORDS);
        m.back = symmetric<uint32_t>((size_t)tokens * TOP * WORDS);
        m.arrived = symmetric<int>((size_t)m.local * n);
        m.ready = symmetric<int>(experts);
        acks = symmetric<int>(n);
        CHECK(cudaMemset(acks, 0, n * sizeof(int)));
    }

    ~buffers()
    {
        for (void *at : {(void *)acks, (void *)m.ready, (void *)m.arrived, (void *)m.back,
                         (void *)m.made, (void *)m.in, (void *)m.out})
            nvshmem_free(at);
        for (void *at :
             {(void *)m.result, (void *)m.sent, (void *)count, (void *)place, (void *)expert})
            CHECK(cudaFree(at));
    }
};

/* Prepares a round: chooses the experts of this PE's tokens, makes the contents of the tokens, and
 * clears what the kernels write. Returns how many messages all PEs send to this one. */
static unsigned route(buffers &b, cudaStream_t stream)
{
    struct moe &m = b.m;
    std::vector<int> expert, place, count(m.experts);
    std::vector<uint32_t> out((size_t)m.tokens * m.words);
    unsigned coming = 0;
    for (int t = 0; t < m.tokens; t++) {
        for (int k = 0; k < m.top; k++) {
            expert.push_back(moe_expert(m, m.me, t, k));
            place.push_back(count[expert.back()]++);
        }
        for (int i = 0; i < m.words; i++)
            out[(size_t)t * m.words + i] = moe_word(m, m.me, t, i);
        for (int i = 0; i < m.n * m.top; i++)
            coming += moe_expert(m, i / m.top, t, i % m.top) / m.local == m.me;
    }
    if (*std::max_element(count.begin(), count.end()) > m.capacity) {
        fprintf(stderr, "dispatch: an expert gets more tokens than there is room for\n");
        nvshmem_global_exit(EXIT_FAILURE);
    }
    auto copy_to_gpu = [&](void *to, const void *from, size_t bytes) {
        CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
    };
    copy_to_gpu(b.expert, expert.data(), expert.size() * sizeof(int));
    copy_to_gpu(b.place, place.data(), place.size() * sizeof(int));
    copy_to_gpu(b.count, count.data(), count.size() * sizeof(int));
    copy_to_gpu(m.out, out.data(), out.size() * sizeof(uint32_t));
    CHECK(cudaMemsetAsync(m.in, 0xff, (size_t)m.local * m.n * m.capacity * m.words * 4, stream));
    CHECK(cudaMemsetAsync(m.back, 0xff, (size_t)m.tokens * m.top * m.words * 4, stream));
    CHECK(cudaMemsetAsync(m.arrived, 0, (size_t)m.local * m.n * sizeof(int), stream));
    CHECK(cudaMemsetAsync(m.ready, 0, m.experts * sizeof(int), stream));
    CHECK(cudaMemsetAsync(m.sent, 0, m.experts * sizeof(int), stream));
    CHECK(cudaMemsetAsync(m.result, 0, 3 * sizeof(unsigned), stream));
    CHECK(cudaStreamSynchronize(stream));
    return coming;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "dispatch NUMBER HOW_MANY FILE [TOKENS [ROUNDS]]\n");
        return EXIT_FAILURE;
    }
    int number = atoi(argv[1]), all = atoi(argv[2]);
    int tokens = argc > 4 ? atoi(argv[4]) : 2048, rounds = argc > 5 ? atoi(argv[5]) : 3;
    if (all < 1 || 8 % all != 0 || tokens < 1 || rounds < 1) {
        fprintf(stderr,
                "dispatch: 8 experts on %d PEs, %d tokens, %d rounds: give 1, 2, 4 or 8 "
                "PEs, and one token and round or more\n",
                all, tokens, rounds);
        return EXIT_FAILURE;
    }
    set_variables(64 / all); /* one queue for each expert of a PE, with 64 experts */
    meet(number, all, argv[3]);
    job j(true);

    /* A team of the PEs that have the same position in their group. One call makes these disjoint
     * teams: each PE passes the members of its own. */
    int groups = all > 1 ? 2 : 1;
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
    nvshmem_team_config_t config = {};
    if (nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, j.me % groups, groups, j.n / groups, &config,
                                   0, &team) != 0 ||
        team == NVSHMEM_TEAM_INVALID) {
        fprintf(stderr, "dispatch: PE %d has no team\n", j.me);
        nvshmem_global_exit(EXIT_FAILURE);
    }
    nvshmem_team_sync(team);

    std::string file = std::string(argv[0]).substr(0, std::string(argv[0]).rfind('/') + 1);
    cudaLibrary_t library;
    cudaKernel_t settle;
    CHECK(cudaLibraryLoadFromFile(&library, (file + "settle.fatbin").c_str(), nullptr, nullptr, 0,
                                  nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&settle, library, "settle"));
    if (nvshmemx_culibrary_init((struct CUlib_st *)library) != 0)
        nvshmem_global_exit(EXIT_FAILURE);

    unsigned tokens_in = 0, results = 0, wrong = 0, missing = 0;
    for (int experts : {8, 64}) {
        buffers b(j.me, j.n, experts, tokens);
        nvshmem_sync_all();
        for (int round = 1; round <= rounds; round++) {
            b.m.round = (uint32_t)(experts * 1000 + round);
            unsigned coming = route(b, j.stream), got[3];
            nvshmemx_barrier_all_on_stream(j.stream);
            void *args[] = {&b.m};
            void *last[] = {&b.m, &b.acks, &team};
            if (nvshmemx_collective_launch((const void *)dispatch, BLOCKS, THREADS, args, 0,
                                           j.stream) != 0 ||
                nvshmemx_collective_launch((const void *)combine, BLOCKS, THREADS, args, 0,
                                           j.stream) != 0)
                nvshmem_global_exit(EXIT_FAILURE);
            CHECK(cudaLaunchKernel((const void *)settle, dim3(1), dim3(128), last, 0, j.stream));
            nvshmemx_barrier_all_on_stream(j.stream);
            CHECK(cudaMemcpyAsync(got, b.m.result, sizeof got, cudaMemcpyDefault, j.stream));
            CHECK(cudaStreamSynchronize(j.stream));
            tokens_in += got[0];
            results += got[1];
            wrong += got[2];
            missing += got[0] != coming || got[1] != (unsigned)(tokens * TOP);
        }
    }
    nvshmemx_culibrary_finalize((struct CUlib_st *)library);
    CHECK(cudaLibraryUnload(library));
    nvshmem_team_destroy(team);
    return j.says(wrong == 0 && missing == 0,
                  "%u tokens came and %u results, %u words are wrong, %u rounds lack some",
                  tokens_in, results, wrong, missing);
}
