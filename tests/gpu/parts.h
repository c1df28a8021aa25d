/*
 * parts.h: parts of colls.cu. With the names of NVSHMEM the assembler took 6 GiB for all in one
 * program: SCATTER_ONLY selects the reduce-scatter calls, NO_SCATTER all others.
 */
#ifdef NO_SCATTER
#undef TEST_sum_reducescatter
#undef TEST_prod_reducescatter
#undef TEST_min_reducescatter
#undef TEST_max_reducescatter
#undef TEST_and_reducescatter
#undef TEST_or_reducescatter
#undef TEST_xor_reducescatter
#define TEST_sum_reducescatter(ROW)
#define TEST_prod_reducescatter(ROW)
#define TEST_min_reducescatter(ROW)
#define TEST_max_reducescatter(ROW)
#define TEST_and_reducescatter(ROW)
#define TEST_or_reducescatter(ROW)
#define TEST_xor_reducescatter(ROW)
#endif

#ifdef SCATTER_ONLY
#undef TEST_broadcast
#undef TEST_fcollect
#undef TEST_alltoall
#undef TEST_sum_reduce
#undef TEST_prod_reduce
#undef TEST_min_reduce
#undef TEST_max_reduce
#undef TEST_and_reduce
#undef TEST_or_reduce
#undef TEST_xor_reduce
#define TEST_broadcast(ROW)
#define TEST_fcollect(ROW)
#define TEST_alltoall(ROW)
#define TEST_sum_reduce(ROW)
#define TEST_prod_reduce(ROW)
#define TEST_min_reduce(ROW)
#define TEST_max_reduce(ROW)
#define TEST_and_reduce(ROW)
#define TEST_or_reduce(ROW)
#define TEST_xor_reduce(ROW)
#endif
