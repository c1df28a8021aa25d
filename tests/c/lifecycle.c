/*
 * lifecycle.c: init and finalize, counted and repeated, and the queries that are always allowed.
 */
#include "check.h"

#include <shmemx.h>

enum { QUERY, COUNTED, NAMES, REACH, AGAIN, TESTS };

static int initialized(void)
{
    int yes = -1;
    shmem_query_initialized(&yes);
    return yes;
}

static void test_counted(void)
{
    check_start(COUNTED, "shmem_init twice");
    shmem_init();
    shmem_finalize();
    CHECK(initialized() == 1, "one finalize of two ended the job");
    int *p = check_alloc(sizeof *p);
    *p = -1;
    shmem_barrier_all();
    shmem_int_p(p, check.me, (check.me + 1) % check.n);
    shmem_barrier_all();
    CHECK(*p == (check.me + check.n - 1) % check.n, "p after the inner finalize wrote %d", *p);
    shmem_free(p);
}

static void test_names(void)
{
    int major = 0, minor = 0;
    char name[SHMEM_MAX_NAME_LEN];
    check_start(NAMES, "shmem_info_get_version, shmem_info_get_name");
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION, "version %d.%d", major,
          minor);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0, "name \"%s\"", name);
}

static void test_reach(void)
{
    static _Thread_local int unreachable;
    int *p = check_alloc(sizeof *p);
    check_start(REACH, "shmem_ptr, shmem_pe_accessible, shmem_addr_accessible");
    CHECK(shmem_ptr(p, check.me) == p, "shmem_ptr of this PE is not the address itself");
    CHECK(shmem_ptr(p, check.n) == NULL && shmem_ptr(p, -1) == NULL, "a PE that does not exist");
    CHECK(shmem_ptr(&unreachable, 0) == NULL, "memory that is not symmetric");
    CHECK(!shmem_pe_accessible(check.n) && !shmem_pe_accessible(-1), "a PE that does not exist");
    CHECK(!shmem_addr_accessible(&unreachable, 0), "memory that is not symmetric");
    *p = 100 + check.me;
    shmem_barrier_all();
    for (int pe = 0; pe < check.n; pe++) {
        CHECK(shmem_pe_accessible(pe) && shmem_addr_accessible(p, pe), "PE %d", pe);
        int *there = shmem_ptr(p, pe);
        CHECK(there == NULL || *there == 100 + pe, "PE %d: a load through shmem_ptr gives %d", pe,
              *there);
    }
    shmem_barrier_all();
    shmem_free(p);
}

/* The library starts a second and a third time in one process. */
static void test_again(void)
{
    check_start(AGAIN, "shmem_init after shmem_finalize");
    for (int i = 0; i < 2; i++) {
        shmem_finalize();
        CHECK(initialized() == 0, "initialized after finalize");
        /* Numba unloads its code when the process ends, after the job. */
        CHECK(shmemx_cumodule_finalize((struct CUmod_st *)&check) == 0 &&
                  shmemx_culibrary_finalize((struct CUlib_st *)&check) == 0,
              "code that the job has left is refused");
        shmem_init();
        CHECK(shmem_my_pe() == check.me && shmem_n_pes() == check.n, "other numbers than before");
        long *p = check_alloc(sizeof *p);
        *p = 0;
        shmem_barrier_all();
        shmem_long_atomic_add(p, check.me + 1, 0);
        shmem_barrier_all();
        CHECK(check.me != 0 || *p == (long)check.n * (check.n + 1) / 2, "sum %ld", *p);
        shmem_free(p);
    }
}

int main(void)
{
    int before = initialized();
    check_open("lifecycle", TESTS);
    check_start(QUERY, "shmem_query_initialized");
    CHECK(before == 0 && initialized() == 1, "%d before init, %d after", before, initialized());
    test_counted();
    test_names();
    test_reach();
    test_again();
    return check_close();
}
