/* The collective launch for callers that look its names up. The argument is a CUDA runtime. With
 * "lacks" behind it the runtime lacks a function: the launch fails, and does not keep it loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

struct dim {
    unsigned x, y, z;
};
struct attribute {
    int id, pad, value[16];
};
struct config {
    struct dim grid, block;
    unsigned long shared;
    void *stream;
    struct attribute *attributes;
    unsigned n;
};

int nvshmemx_collective_launch_query_gridsize(const void *func, struct dim block, void **args,
                                              unsigned long shared, int *gridsize);
int nvshmemx_collective_launch(const void *func, struct dim grid, struct dim block, void **args,
                               unsigned long shared, void *stream);
int nvshmemx_collective_launch_attr(const struct config *attr, const void *func, void **args);

int main(int argc, char **argv)
{
    const struct dim none = {0, 0, 0}, block = {128, 2, 1}, large = {512, 1, 1}, three = {3, 3, 1};
    void *func = (void *)0x10, *stream = (void *)0x20, **args = (void **)0x30;
    int most = -1;
    if (argc > 2) {
        void *runtime = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        int rc = nvshmemx_collective_launch(func, none, block, args, 64, stream);
        printf("%d\n", runtime != NULL ? rc : -1);
        dlclose(runtime);
        printf("%d\n", dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL);
        return 0;
    }
    if (argc > 1 && dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == NULL)
        return 2;
    int rc = nvshmemx_collective_launch_query_gridsize(func, block, args, 0, &most);
    printf("%d: %d\n", rc, most);
    printf("%d\n", nvshmemx_collective_launch(func, none, block, args, 64, stream));
    printf("%d\n", nvshmemx_collective_launch(func, (struct dim){2, 2, 2}, block, args, 0, NULL));
    printf("%d\n", nvshmemx_collective_launch(func, three, block, args, 0, NULL));
    printf("%d\n", nvshmemx_collective_launch(func, none, none, args, 0, NULL));
    printf("%d\n", nvshmemx_collective_launch((void *)1, none, block, args, 0, NULL));
    struct attribute own[] = {{4, 0, {7}}, {2, 0, {0}}};
    struct config config = {none, large, 0, stream, own, 2};
    printf("%d\n", nvshmemx_collective_launch_attr(&config, func, args));
    printf("%d\n", nvshmemx_collective_launch_attr(NULL, func, args));
    printf("%d\n", nvshmemx_collective_launch(func, none, (struct dim){1024, 1, 1}, args, 0, NULL));
    printf("%d\n", nvshmemx_collective_launch(func, none, block, args, 5000, NULL));
    return 0;
}
