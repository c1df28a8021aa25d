/*
 * main.cu: several translation units with kernels, and several libraries, in one process. Two units
 * are the program's; of the libraries in its arguments, the first is loaded before the library is
 * initialised, the others after, and each is unloaded and loaded again. Each may contain CUDA's run
 * time or share one, and so may the program. All of it runs twice: a process may have one job after
 * the other.
 *
 * shmemrun -n 2 units LIBRARY...
 */
#include "units.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

int other_start(struct unit_words *to, int *from, int number);

namespace
{

int me, n, right, wrong;
struct unit_words *to; /* symmetric */
int *from;             /* of this PE's GPU */

void expect(const char *what, const char *of, bool good)
{
    if (good) {
        right++;
        return;
    }
    wrong++;
    printf("PE %d: %s of %s\n", me, what, of);
}

void *load(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        printf("units: %s\n", dlerror());
        exit(1);
    }
    return library;
}

/* All PEs start the kernel of one unit, and check the put of the previous PE. */
void shift(const char *of, unit_start start)
{
    static int number;
    struct unit_words got = {};
    number++;
    shmem_putmem(to, &got, sizeof got, me);
    shmem_barrier_all();
    int code = start(to, from, number);
    if (code != 0)
        printf("PE %d: %s: %s\n", me, of, cudaGetErrorString((cudaError_t)code));
    expect("the kernel", of, code == 0);
    shmem_barrier_all();
    shmem_getmem(&got, to, sizeof got, me);
    int before = (me + n - 1) % n;
    bool good = got.one == number * 10 + before;
    for (int i = 0; i < 100; i++)
        good = good && got.all[i] == number * 1000 + before * 100 + i;
    expect("what came by the kernel", of, good);
    shmem_barrier_all();
}

void shift_late(const char *file, void *library)
{
    unit_start start = (unit_start)dlsym(library, "late_start");
    expect("the function", file, start != nullptr);
    if (start != nullptr)
        shift(file, start);
}

void job(int argc, char **argv)
{
    void *early = argc > 1 ? load(argv[1]) : nullptr;
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    to = (struct unit_words *)shmem_malloc(sizeof *to);
    if (cudaMalloc((void **)&from, 100 * sizeof *from) != cudaSuccess) {
        printf("units: no memory of the GPU\n");
        exit(1);
    }
    shift("main.cu", unit_run);
    shift("other.cu", other_start);
    if (early != nullptr)
        shift_late(argv[1], early);
    for (int round = 0; round < 2; round++) {
        for (int i = 2; i < argc; i++) {
            void *late = load(argv[i]);
            shift_late(argv[i], late);
            /* A unit that is unloaded must not be used any more. */
            shmem_barrier_all();
            expect("the end", argv[i], dlclose(late) == 0);
        }
    }
    shift("main.cu, at the end", unit_run);
    if (early != nullptr)
        shift_late(argv[1], early);
    (void)cudaFree(from);
    shmem_free(to);
    shmem_finalize();
    if (early != nullptr)
        dlclose(early);
}

} // namespace

int main(int argc, char **argv)
{
    int gpus = 0;
    const char *pe = getenv("SHMEM_LAUNCHER_PE");
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        printf("units: there is no GPU\n");
        return 1;
    }
    (void)cudaSetDevice((pe != nullptr ? atoi(pe) : 0) % gpus);
    for (int i = 0; i < 2; i++)
        job(argc, argv);
    printf("PE %d: %d passed, %d failed\n", me, right, wrong);
    return wrong != 0;
}
