/*
 * api.c: as bad.c, for waits on arrays: does one thing that cannot be served.
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, n;
static long *block; /* 10 elements */
static long here[10];

/* CASE(name) { ... } is a case. */
struct one {
    const char *name;
    void (*run)(void);
    struct one *next;
};
static struct one *cases;

#define CASE(what)                                                                                 \
    static void what(void);                                                                        \
    __attribute__((constructor)) static void add_##what(void)                                      \
    {                                                                                              \
        static struct one it = {.name = #what, .run = what};                                       \
        it.next = cases;                                                                           \
        cases = &it;                                                                               \
    }                                                                                              \
    static void what(void)

CASE(wait_any_comparison)
{
    shmem_long_wait_until_any(block, 10, NULL, -1, 0);
}
CASE(wait_any_private)
{
    shmem_long_wait_until_any(here, 2, NULL, SHMEM_CMP_EQ, 1);
}
CASE(wait_all_overflow)
{
    shmem_long_wait_until_all(block, SIZE_MAX / 4, NULL, SHMEM_CMP_EQ, 0);
}
CASE(wait_some_no_indices)
{
    shmem_long_wait_until_some(block, 10, NULL, NULL, SHMEM_CMP_EQ, 0);
}
CASE(test_all_no_values)
{
    shmem_long_test_all_vector(block, 10, NULL, SHMEM_CMP_EQ, NULL);
}
CASE(test_any_past_block)
{
    shmem_long_test_any(block, 11, NULL, SHMEM_CMP_EQ, 0);
}
CASE(test_any_misaligned)
{
    shmem_long_test_any((long *)((char *)block + 4), 2, NULL, SHMEM_CMP_EQ, 0);
}
CASE(test_some_overlap)
{
    shmem_long_test_some(block, 5, (size_t *)block + 4, NULL, SHMEM_CMP_EQ, 0);
}
CASE(hang_all)
{
    const int status[4] = {0, 0, 1, 0};
    if (me == 1) {
        usleep(2500 * 1000);
        shmem_long_p(block + 3, 5, 0);
    } else {
        block[0] = block[1] = 5;
        shmem_long_wait_until_all(block, 4, status, SHMEM_CMP_EQ, 5);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    block = shmem_calloc(10, sizeof *block);
    for (struct one *c = cases; c != NULL; c = c->next)
        if (strcmp(what, c->name) == 0)
            c->run();
    shmem_finalize();
    return 0;
}
