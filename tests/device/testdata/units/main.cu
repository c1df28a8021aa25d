// A unit with kernels and host code, and another is linked in; a third is loaded and unloaded while
// the program runs.
#include <shmem.h>

#include <shmem/shmem.cuh>

#include <cstdio>
#include <dlfcn.h>

extern "C" void set_all(void);
void other(int *target);

__global__ void shift(shmem_context ctx, int *target)
{
    // A kernel's call of the same name is the header's own.
    shmem_int_p(target, shmem_my_pe(), 1);
    shmem_int_p(ctx, target, shmem_my_pe(), 1);
}

int main(int, char **argv)
{
    int target = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("host: PE %d\n", shmem_my_pe());
    shmem_context ctx = shmem_ctx(&target);
    shift<<<1, 1>>>(ctx, &target);
    other(&target);
    set_all();
    void *late = dlopen(argv[1], RTLD_NOW);
    if (late == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    set_all();
    dlclose(late);
    return 0;
}
