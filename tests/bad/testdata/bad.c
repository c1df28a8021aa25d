/*
 * bad.c: makes one call that cannot be served. The argument names it; the test beside this file
 * knows the library's report.
 */
#include "go.h"
#include "modules.h"
#include "pieces.h"

#include <shmem.h>
#include <shmem/state.h>
#include <shmem/unit.h>
#include <shmemx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int me, n;
static long *block; /* 10 elements */

static void put_wrong_pe(void)
{
    shmem_long_put(block, block, 1, n);
}
static void p_negative_pe(void)
{
    shmem_long_p(block, 1, -1);
}
static void get_null(void)
{
    shmem_long_get(block, NULL, 1, 0);
}
static void put_private(void)
{
    static _Thread_local long here;
    shmem_long_put(&here, block, 1, 0);
}
static long several[10];
static void put_static(void)
{
    shmem_long_put(several, block, 1, 0);
}
static void put_static_past_end(void)
{
    shmem_long_put(several, block, (size_t)1 << 40, 0);
}
static void wait_static(void)
{
    shmem_long_wait_until(several, SHMEM_CMP_EQ, 1);
}
static void broadcast_static(void)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, several, block, 1, 0);
}
static void hang_static(void)
{
    if (me == 1) {
        await_go();
        shmem_long_p(several + 1, 5, 0);
    } else {
        shmem_long_wait_until(several + 1, SHMEM_CMP_EQ, 5);
    }
}
static void put_past_end(void)
{
    shmem_putmem(block, block, (size_t)1 << 40, 0);
}
static void put_overflow(void)
{
    shmem_long_put(block, block, SIZE_MAX / 4, 0);
}
static void put_null_source(void)
{
    shmem_long_put(block, NULL, 1, (me + 1) % n);
}
static void put_nbi_null_source(void)
{
    shmem_long_put_nbi(block, NULL, 1, (me + 1) % n);
}
static void get_null_dest(void)
{
    shmem_long_get(NULL, block, 1, (me + 1) % n);
}
static void get_nbi_null_dest(void)
{
    shmem_long_get_nbi(NULL, block, 1, (me + 1) % n);
}
static void signal_null_source(void)
{
    shmem_long_put_signal(block, NULL, 1, (uint64_t *)block + 1, 1, SHMEM_SIGNAL_SET, (me + 1) % n);
}
static void fetch_nbi_null(void)
{
    shmem_long_atomic_fetch_nbi(NULL, block, (me + 1) % n);
}
static void fetch_nbi32_null(void)
{
    shmem_int_atomic_fetch_nbi(NULL, (int *)block, (me + 1) % n);
}
static void amo_private(void)
{
    static _Thread_local long here;
    shmem_long_atomic_add(&here, 1, 0);
}
static void stream_without_gpu(void)
{
    shmemx_barrier_all_on_stream(NULL);
}
static void stream_kernel(void)
{
    shmemx_sync_all_on_stream(NULL);
}
static void stream_wrong_pe(void)
{
    shmemx_long_put_on_stream(block, block, 1, n, NULL);
}
static void stream_private(void)
{
    static _Thread_local long here;
    shmemx_long_get_on_stream(block, &here, 1, 0, NULL);
}
static void stream_past_end(void)
{
    shmemx_long_fcollect_on_stream(SHMEM_TEAM_WORLD, block, block, SIZE_MAX / 4, NULL);
}
static void stream_null_source(void)
{
    shmemx_putmem_signal_on_stream(block, NULL, 8, (uint64_t *)block, 1, SHMEM_SIGNAL_SET, 0, NULL);
}
static void stream_misaligned(void)
{
    shmemx_long_p_on_stream((long *)((char *)block + 4), 1, 0, NULL);
}
static void stream_operation(void)
{
    shmemx_signal_op_on_stream((uint64_t *)block, 1, 77, 0, NULL);
}
static void stream_comparison(void)
{
    shmemx_long_wait_until_on_stream(block, 42, 1, NULL);
}
static void stream_root(void)
{
    shmemx_long_broadcast_on_stream(SHMEM_TEAM_WORLD, block, block, 1, n, NULL);
}
static void stream_team(void)
{
    shmemx_long_sum_reduce_on_stream(4711, block, block, 1, NULL);
}
static void signal_operation(void)
{
    shmem_putmem_signal(block, block, 8, (uint64_t *)block, 1, 77, 0);
}
static void wait_comparison(void)
{
    shmem_long_wait_until(block, 42, 0);
}
static void wait_private(void)
{
    static _Thread_local long here;
    shmem_long_wait_until(&here, SHMEM_CMP_EQ, 1);
}
static void broadcast_root(void)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, block, block, 1, n);
}
static void broadcast_private(void)
{
    static _Thread_local long here;
    shmem_long_broadcast(SHMEM_TEAM_WORLD, &here, block, 1, 0);
}
static void team_unknown(void)
{
    shmem_long_broadcast((shmem_team_t)4711, block, block, 1, 0);
}
static void free_twice(void)
{
    shmem_free(block);
    shmem_free(block);
}
static void free_inside(void)
{
    shmem_free(block + 1);
}
static void free_private(void)
{
    shmem_free(&me);
}
static char *registered;
static void *own_buffer(void)
{
    registered = aligned_alloc(4096, 4096);
    return shmemx_buffer_register_symmetric(registered, 4096, 0);
}
static void free_buffer(void)
{
    shmem_free(own_buffer());
}
static void put_past_buffer(void)
{
    own_buffer();
    shmem_long_put((long *)(void *)(registered + 4088), several, 2, 0);
}
static void register_apart(void)
{
    char *p = aligned_alloc(4096, 8192);
    if (shmemx_buffer_register_symmetric(p + me, 4096, 0) == NULL)
        fprintf(stderr, "PE %d: %s\n", me, shmemx_last_error_text());
    free(p);
}
static void align_odd(void)
{
    shmem_align(24, 100);
}
static void align_zero(void)
{
    shmem_align(0, 100);
}
static void align_near(void)
{
    shmem_align(63, 100);
}
static void sizes_differ(void)
{
    shmem_malloc(100 + (size_t)me);
}
static void after_finalize(void)
{
    shmem_finalize();
    shmem_long_p(block, 1, 0);
}
static void finalize_twice(void)
{
    shmem_finalize();
    shmem_finalize();
}
static void exit_7(void)
{
    if (me == n - 1)
        shmem_global_exit(7);
    shmem_barrier_all();
}
static void exit_0(void)
{
    if (me == n - 1)
        shmem_global_exit(0);
    for (;;)
        pause();
}
static void exit_256(void)
{
    if (me == n - 1)
        shmem_global_exit(256);
    shmem_barrier_all();
}
static void child_calls(void (*call)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        call();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child ended with status %d\n", WEXITSTATUS(status));
    shmem_finalize();
    exit(0);
}
static void in_child(void)
{
    child_calls(shmem_barrier_all);
}
static void finalize_in_child(void)
{
    child_calls(shmem_finalize);
}
static void crash(void)
{
    if (me == 1)
        *(volatile int *)8 = 1;
    shmem_barrier_all();
}
static void leaves(void)
{
    if (me == 1)
        exit(0);
    shmem_barrier_all();
}
/* PE 0 only exits: shmem_finalize at exit completes its put and waits for PE 1. */
static void ends_without_finalize(void)
{
    static long *word;
    word = shmem_calloc(1, sizeof *word);
    shmemx_finalize_at_exit();
    shmemx_finalize_at_exit();
    if (me == 0)
        shmem_long_p(word, 5, 1);
    else
        shmem_long_wait_until(word, SHMEM_CMP_EQ, 5);
    exit(0);
}
static void hang(void)
{
    static long *word;
    word = shmem_calloc(1, sizeof *word);
    if (me == 0)
        shmem_long_wait_until(word, SHMEM_CMP_EQ, 5);
    await_go();
    shmem_long_p(word, 5, 0);
    shmem_finalize();
    exit(0);
}

/* The network has work for PE 0 all the time. */
static void hang_busy(void)
{
    long *words = shmem_calloc(2, sizeof *words);
    if (me == 0)
        shmem_long_wait_until(words, SHMEM_CMP_EQ, 5);
    while (me == 1 && !may_go())
        for (int i = 0; i < 20; i++)
            shmem_long_atomic_fetch_inc(words + 1, 0);
    shmem_long_p(words, 5, 0);
    shmem_finalize();
    exit(0);
}

/* The rings continue after an operation that cannot be served. */
static void ring_operations(void)
{
    const struct shmemi_device_state *s = shmemi_host_state();
    const struct shmemi_ring *r = s->rings;
    struct shmemi_words w = shmemi_pack_p(77, 0, 64, 2, 1);
    shmemi_push(r, &w, SHMEMI_SLOTS_P);
    w = shmemi_pack_put((uint32_t)(1 - me), 0, (uintptr_t)block - s->segment, 64, 8, 0, 0);
    shmemi_push(r, &w, SHMEMI_SLOTS_PUT);
    w = shmemi_pack_p((uint32_t)(1 - me), 0, (uintptr_t)block - s->segment, 2, 42);
    shmemi_push(r, &w, SHMEMI_SLOTS_P);
    shmemi_ring_quiet(r, s->ring_count, 0, 0);
    shmem_barrier_all();
    if (*(int *)block == 42)
        fprintf(stderr, "PE %d went on\n", me);
}
static void ring_version(void)
{
    shmemi_device_state(SHMEMI_WIRE_VERSION + 1, 8);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"ring_operations", ring_operations},
    {"ring_version", ring_version},
    {"put_wrong_pe", put_wrong_pe},
    {"p_negative_pe", p_negative_pe},
    {"get_null", get_null},
    {"put_private", put_private},
    {"put_static", put_static},
    {"put_static_past_end", put_static_past_end},
    {"wait_static", wait_static},
    {"broadcast_static", broadcast_static},
    {"hang_static", hang_static},
    {"put_past_end", put_past_end},
    {"put_overflow", put_overflow},
    {"put_null_source", put_null_source},
    {"put_nbi_null_source", put_nbi_null_source},
    {"get_null_dest", get_null_dest},
    {"get_nbi_null_dest", get_nbi_null_dest},
    {"signal_null_source", signal_null_source},
    {"fetch_nbi_null", fetch_nbi_null},
    {"fetch_nbi32_null", fetch_nbi32_null},
    {"amo_private", amo_private},
    {"signal_operation", signal_operation},
    {"stream_without_gpu", stream_without_gpu},
    {"stream_kernel", stream_kernel},
    {"stream_wrong_pe", stream_wrong_pe},
    {"stream_private", stream_private},
    {"stream_past_end", stream_past_end},
    {"stream_null_source", stream_null_source},
    {"stream_misaligned", stream_misaligned},
    {"stream_operation", stream_operation},
    {"stream_comparison", stream_comparison},
    {"stream_root", stream_root},
    {"stream_team", stream_team},
    {"module_finalized", module_finalized},
    {"module_without_gpu", module_without_gpu},
    {"module_of_another_size", module_of_another_size},
    {"module_of_another_version", module_of_another_version},
    {"module_of_nothing", module_of_nothing},
    {"wait_comparison", wait_comparison},
    {"wait_private", wait_private},
    {"broadcast_root", broadcast_root},
    {"broadcast_private", broadcast_private},
    {"team_unknown", team_unknown},
    {"free_twice", free_twice},
    {"free_inside", free_inside},
    {"free_private", free_private},
    {"free_buffer", free_buffer},
    {"put_past_buffer", put_past_buffer},
    {"register_apart", register_apart},
    {"register_pieces", register_pieces},
    {"align_odd", align_odd},
    {"align_zero", align_zero},
    {"align_near", align_near},
    {"sizes_differ", sizes_differ},
    {"after_finalize", after_finalize},
    {"finalize_twice", finalize_twice},
    {"exit_7", exit_7},
    {"exit_0", exit_0},
    {"exit_256", exit_256},
    {"in_child", in_child},
    {"finalize_in_child", finalize_in_child},
    {"crash", crash},
    {"leaves", leaves},
    {"ends_without_finalize", ends_without_finalize},
    {"hang", hang},
    {"hang_busy", hang_busy},
};

/* The library's view of a translation unit with kernels. */
static int set_fails(const struct shmemi_device_image *image, int device)
{
    (void)device;
    return image != NULL ? 209 : 0;
}
static const char *why(int error)
{
    return error == 209 ? "no kernel image is available for execution on the device" : "?";
}
static struct shmemi_unit unit = {
    SHMEMI_WIRE_VERSION,
    (uint32_t)sizeof(struct shmemi_unit),
    (uint32_t)sizeof(struct shmemi_device_state),
    (uint32_t)sizeof(struct shmemi_device_image),
    "bad.cu",
    set_fails,
    why,
    NULL,
};

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int provided;
    if (strcmp(what, "before_init") == 0) {
        long word = 0;
        shmem_long_p(&word, 1, 0);
    }
    if (strcmp(what, "rings_before_init") == 0)
        shmemi_host_state();
    if (strcmp(what, "register_before_init") == 0)
        shmemx_buffer_register_symmetric(NULL, 0, 0);
    if (strcmp(what, "stream_before_init") == 0)
        shmemx_quiet_on_stream(NULL);
    if (strcmp(what, "my_pe_before_init") == 0)
        shmem_my_pe();
    if (strcmp(what, "finalize_before_init") == 0)
        shmem_finalize();
    if (strcmp(what, "thread_level") == 0)
        return shmem_init_thread(99, &provided) != 0 ? 3 : 0;
    if (strcmp(what, "unit_newer") == 0)
        unit.version++;
    if (strcmp(what, "unit_larger") == 0)
        unit.state_size += 8;
    if (strncmp(what, "unit_", 5) == 0)
        shmemi_device_register(&unit);
    /* The last PE never enters the call. */
    if (strcmp(what, "absent") == 0 && strcmp(getenv("SHMEM_LAUNCHER_PE"), "1") == 0)
        for (;;)
            pause();
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    block = shmem_calloc(10, sizeof *block);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(what, cases[i].name) == 0)
            cases[i].run();
    shmem_finalize();
    return 0;
}
