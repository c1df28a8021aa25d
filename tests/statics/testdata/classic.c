/*
 * classic.c: a program of file-scope arrays and flags, which the test builds in many ways. The
 * argument is the expectation: "yes", or "no" where the statics are its own. With "overflow" it
 * reads past the end of a global, which AddressSanitizer must see; with "protected" and "stack" it
 * uses its data in ways that make the library decline it.
 */
#define _GNU_SOURCE
#include <shmem.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

long values[5] = {1, 2, 3, 4, 5};
static long zeros[5000];
static const char *volatile name = "in .data, and points to .rodata";
static long flag, counter;
#ifdef COPIED
extern long copied; /* of a shared library */
long *library_sees(void);
#endif
static volatile int end = 5;
static _Alignas(4096) char constant[4096];
static _Alignas(4096) char stack[1 << 20];
extern char table[] __asm__("_GLOBAL_OFFSET_TABLE_") __attribute__((visibility("hidden")));

static void fail(const char *what)
{
    fprintf(stderr, "PE %d: %s\n", shmem_my_pe(), what);
    shmem_global_exit(1);
}

static void *count(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
        __atomic_fetch_add(&zeros[0], 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *join(void *unused)
{
    shmem_init();
    return unused;
}

static void on_static_stack(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, sizeof stack) != 0 ||
        pthread_create(&thread, &attributes, join, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *want = argc > 1 ? argv[1] : "yes";
    static int stop; /* with "threads": of one that existed before init */
    pthread_t before;
    if (strcmp(want, "threads") == 0 && pthread_create(&before, NULL, count, &stop) != 0)
        return 2;
    values[1] = 20; /* before init, as any variable */
    zeros[4999] = 7;
    int own = strcmp(want, "no") == 0;
    if (strcmp(want, "protected") == 0)
        own = mprotect(constant, sizeof constant, PROT_READ) == 0;
    if (strcmp(want, "stack") == 0) {
        on_static_stack();
        own = 1;
    } else {
        shmem_init();
    }
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
    int yes = shmem_addr_accessible(values, right);
    if (own) {
        if (yes || shmem_addr_accessible(zeros, right))
            fail("statics are symmetric");
        long *heap = shmem_malloc(sizeof *heap);
        shmem_long_p(heap, me, right); /* the rest works */
        shmem_barrier_all();
        if (*heap != left)
            fail("the heap");
        if (me == 0)
            printf("private\n");
        shmem_finalize();
        return 0;
    }
    if (!yes || !shmem_addr_accessible(&zeros[4999], right))
        fail("statics are not symmetric");
    /* Its first three words are the dynamic linker's, and protected where RELRO is. */
    if (shmem_addr_accessible(table + 3 * sizeof(void *), right))
        fail("the table of functions is symmetric");
    if (values[0] != 1 || values[1] != 20 || zeros[4999] != 7 ||
        strcmp(name, "in .data, and points to .rodata") != 0)
        fail("the contents are lost");
    shmem_barrier_all();
    shmem_long_put(&zeros[100], values, 5, right);
    shmem_fence();
    shmem_long_p(&flag, 1, right);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    if (zeros[101] != 20 || zeros[104] != 5)
        fail("put");
    shmem_long_atomic_add(&counter, me + 1, 0);
    shmem_barrier_all();
    if (shmem_long_g(&counter, 0) != n * (n + 1) / 2)
        fail("atomic_add");
#ifdef COPIED
    shmem_long_p(&copied, 100 + me, right);
    shmem_barrier_all();
    if (copied != 100 + left || library_sees() != &copied || *library_sees() != 100 + left)
        fail("a copied variable");
#endif
    if (strcmp(want, "overflow") == 0)
        printf("%ld\n", values[end]);
    if (strcmp(want, "threads") == 0) {
        __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
        pthread_join(before, NULL);
    }
    shmem_barrier_all();
    shmem_finalize();

    /* A second job: it finds the contents of the first. */
    shmem_init();
    if (zeros[101] != 20 || counter != (me == 0 ? n * (n + 1) / 2 : 0))
        fail("the second job has lost the contents");
    shmem_long_p(&zeros[1], 8, right);
    shmem_barrier_all();
    if (zeros[1] != 8)
        fail("the second job");
    if (me == 0)
        printf("symmetric\n");
    shmem_finalize();
    return 0;
}
