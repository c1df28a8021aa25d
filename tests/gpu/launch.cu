/*
 * launch.cu: kernels whose blocks all run at the same time, and kernels in code
 * that is loaded while the program runs.
 *
 * shmemrun -n N launch
 */
#include "stream.h"

namespace
{

int *word; /* symmetric */

/* Every block waits for every other, which only works when all run. */
__global__ void meet(unsigned int *arrived, int *to, int next)
{
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned int *)arrived < gridDim.x)
            ;
        if (blockIdx.x == 0) {
            shmem_int_p(to, (int)gridDim.x, next);
            shmem_quiet();
        }
    }
}

/* More registers than a thread has in a block of 1,024. */
__global__ void sum(int *to)
{
    (void)shmemx_int_sum_reduce_block(SHMEM_TEAM_WORLD, to, to, 100);
}

void launches()
{
    unsigned int *arrived;
    int most_blocks = 0, *to = word, next = (me + 1) % n;
    void *args[] = {&arrived, &to, &next};
    CHECK(cudaMalloc((void **)&arrived, sizeof *arrived));
    CHECK(cudaMemset(arrived, 0, sizeof *arrived));
    shmem_barrier_all();
    expect("how many blocks fit", shmemx_collective_launch_query_gridsize(
                                      (const void *)meet, dim3(64), args, 0, &most_blocks) == 0 &&
                                      most_blocks > 0);
    expect("a launch of too many blocks is refused",
           shmemx_collective_launch((const void *)meet, dim3((unsigned)most_blocks + 1), dim3(64),
                                    args, 0, stream) != 0);
    expect("a launch of too many registers is refused",
           shmemx_collective_launch((const void *)sum, dim3(1), dim3(1024), args, 0, stream) ==
               cudaErrorLaunchOutOfResources);
    expect("a launch of as many as fit", shmemx_collective_launch((const void *)meet, dim3(0, 0, 0),
                                                                  dim3(64), args, 0, stream) == 0);
    done();
    shmem_barrier_all();
    expect("all blocks met", have<int>(to, 1)[0] == most_blocks);
    CHECK(cudaFree(arrived));
    shmem_barrier_all();
}

/* A function of the driver, with which the program is not linked. */
template <class F> F driver(const char *name)
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found));
    return (F)f;
}

/* The kernel of module.cu, initialised for the job. */
template <class LAUNCH> void shift(const char *what, LAUNCH launch)
{
    int *to = word;
    void *args[] = {&to};
    CHECK(cudaMemsetAsync(to, 0, sizeof *to, stream));
    done();
    shmem_barrier_all();
    launch(args);
    done();
    shmem_barrier_all();
    expect(what, have<int>(to, 1)[0] == (me + n - 1) % n + 1);
    shmem_barrier_all();
}

void modules(const std::string &file)
{
    stage(file.c_str());
    cudaLibrary_t library;
    cudaKernel_t kernel;
    CHECK(
        cudaLibraryLoadFromFile(&library, file.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&kernel, library, "shift"));
    struct CUlib_st *known = (struct CUlib_st *)library;
    expect("a library's init", shmemx_culibrary_init(known) == 0);
    shift("a library's kernel", [&](void **args) {
        CHECK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), args, 0, stream));
    });
    expect("a library's end", shmemx_culibrary_finalize(known) == 0);
    expect("a second end is refused", shmemx_culibrary_finalize(known) != 0);
    CHECK(cudaLibraryUnload(library));

    struct CUmod_st *module = nullptr;
    void *function = nullptr;
    auto load = driver<int (*)(struct CUmod_st **, const char *)>("cuModuleLoad");
    auto find = driver<int (*)(void **, struct CUmod_st *, const char *)>("cuModuleGetFunction");
    auto unload = driver<int (*)(struct CUmod_st *)>("cuModuleUnload");
    auto launch = driver<int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, cudaStream_t, void **, void **)>("cuLaunchKernel");
    expect("a module is loaded",
           load(&module, file.c_str()) == 0 && find(&function, module, "shift") == 0);
    expect("a module's init", shmemx_cumodule_init(module) == 0);
    shift("a module's kernel", [&](void **args) {
        expect("a module's kernel is launched",
               launch(function, 1, 1, 1, 1, 1, 1, 0, stream, args, nullptr) == 0);
    });
    expect("a module's end", shmemx_cumodule_finalize(module) == 0 && unload(module) == 0);
}

} // namespace

int main(int, char **argv)
{
    begin();
    word = (int *)shmem_calloc(1, sizeof *word);
    launches();
    std::string folder = argv[0];
    folder.resize(folder.rfind('/') + 1);
    modules(folder + "module.fatbin"); /* of nvcc */
    modules(folder + "module.ptx");    /* of NVRTC */
    return end();
}
