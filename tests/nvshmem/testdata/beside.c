/*
 * Two libraries with the same names: an OpenSHMEM that starts the program's job, and the library of
 * NVSHMEM's names, with an OpenSHMEM below it. Each calls its own functions.
 */
#define _GNU_SOURCE
#include <nvshmem.h>
#include <nvshmemx.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Like any OpenSHMEM's. */
void shmem_init(void);
void shmem_finalize(void);
int shmem_my_pe(void);
int shmem_n_pes(void);
void *shmem_malloc(size_t size);
void shmem_free(void *ptr);
void shmem_barrier_all(void);
void shmem_int_p(int *dest, int value, int pe);
void shmem_int_put(int *dest, const int *source, size_t nelems, int pe);

#define REQUIRE(what)                                                                              \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* The file that defines a function. */
static int in(const void *function, const char *library)
{
    Dl_info info;
    return dladdr(function, &info) != 0 && strstr(info.dli_fname, library) != NULL;
}

int main(void)
{
    REQUIRE(in((void *)shmem_my_pe, "liboshmem.so"));
    REQUIRE(in(dlsym(RTLD_DEFAULT, "shmem_my_pe"), "liboshmem.so"));
    REQUIRE(in((void *)nvshmem_my_pe, "libshmem_nvshmem.so"));

    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    nvshmemx_init_attr_t attr;
    if (getenv("NVSHMEM_BOOTSTRAP") != NULL)
        nvshmem_init();
    else
        REQUIRE(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_SHMEM, &attr) == 0);
    REQUIRE(nvshmem_my_pe() == me && nvshmem_n_pes() == n);

    /* Each has its own heap, and moves data in it. */
    int *theirs = shmem_malloc(2 * sizeof *theirs), *ours = nvshmem_malloc(2 * sizeof *ours);
    REQUIRE(theirs != NULL && ours != NULL);
    theirs[0] = theirs[1] = ours[0] = ours[1] = -1;
    shmem_barrier_all();
    nvshmem_barrier_all();
    int next = (me + 1) % n, before = (me + n - 1) % n, value = 1000 + me;
    shmem_int_p(theirs, 100 + me, next);
    nvshmem_int_p(ours, 200 + me, next);
    shmem_int_put(theirs + 1, &value, 1, next);
    value += 1000;
    nvshmem_int_put(ours + 1, &value, 1, next);
    shmem_barrier_all();
    nvshmem_barrier_all();
    REQUIRE(theirs[0] == 100 + before && theirs[1] == 1000 + before);
    REQUIRE(ours[0] == 200 + before && ours[1] == 2000 + before);
    REQUIRE(nvshmem_ptr(ours, me) == ours && nvshmem_ptr(theirs, me) == NULL);

    nvshmem_free(ours);
    nvshmem_finalize();
    shmem_barrier_all();
    shmem_free(theirs);
    shmem_finalize();
    printf("passed\n");
    return 0;
}
