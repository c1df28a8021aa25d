/*
 * gpu.c: copies to and from the memory of a GPU, and reads and atomics of words there, through the
 * core.
 */
#include "gpu.h"

#include "archive_memory.h"

#include "error.h"
#include "failure.h"
#include "team.h"

#pragma GCC visibility push(default)
int shmemi_copies_apart(void);
#pragma GCC visibility pop

/* For the Python package: reports whether the library's copies run without waiting for work on the
 * program's CUDA streams. If not, the package waits for that work. */
int shmemi_copies_apart(void)
{
    return shmemi_state.copies_apart != 0;
}

/* Ends the job with the core's error if a call of the GPU driver has failed. */
static void check(int rc, const char *call)
{
    if (rc != SHMEMI_DONE)
        shmemi_abort(call, NULL, "%s", shmemi_state.core->error());
}

/* Reports whether an address is in the memory of a GPU. For addresses outside the heap it asks the
 * driver; an error of the driver counts as no. */
bool shmemi_in_gpu(const void *p)
{
    return shmemi_in_heap(p, 1) ? shmemi_heap_on_gpu() : shmemi_state.core->gpu_holds(p) == 1;
}

/* Reports whether a copy needs the GPU driver: one side is in GPU memory. A copy within main memory
 * does not; to ask the driver where both pointers are costs less than a copy through the driver.
 * The heap is checked first, because that takes no driver call: with one, a put from the heap took
 * 4 us more (H200). */
static bool needs_driver(const void *to, const void *from)
{
    if (shmemi_heap_on_gpu() && (shmemi_in_heap(to, 1) || shmemi_in_heap(from, 1)))
        return true;
    return shmemi_in_gpu(to) || shmemi_in_gpu(from);
}

/* Copies n bytes between any two memories, and returns when the copy is complete. */
void shmemi_move_gpu(void *to, const void *from, size_t n, const char *call)
{
    if (n == 0)
        return;
    if (needs_driver(to, from))
        check(shmemi_state.core->gpu_move(to, from, n), call);
    else
        memmove(to, from, n);
}

/* Starts a copy by the GPU driver, or copies at once if both sides are in main memory. */
void shmemi_move_nbi_gpu(void *to, const void *from, size_t n, const char *call)
{
    if (n == 0)
        return;
    if (!needs_driver(to, from)) {
        memmove(to, from, n);
        return;
    }
    check(shmemi_state.core->gpu_start(to, from, n), call);
    /* The count is raised last: a thread that waits for this count of copies then waits for a
     * stream that contains the copy. */
    shmemi_publish_add(&shmemi_state.gpu_started, 1);
}

/* Waits until all copies of the GPU driver that have begun are complete. Another thread may wait
 * for the same copies; each returns when they are complete, so the count of completed ones is
 * raised only after the wait. */
void shmemi_settle(const char *call)
{
    struct shmemi_state *s = &shmemi_state;
    if (!shmemi_gpu_moving())
        return;
    uint64_t started = shmemi_observe(&s->gpu_started);
    check(s->core->gpu_settle(), call);
    uint64_t settled = shmemi_read_once(&s->gpu_settled);
    while (settled < started && !shmemi_exchange_if(&s->gpu_settled, &settled, started))
        ;
}

/* Sets n bytes of this PE's symmetric memory to 0. */
void shmemi_clear(void *at, size_t n, const char *call)
{
    if (shmemi_on_gpu(at))
        check(shmemi_state.core->gpu_clear(at, n), call);
    else
        memset(at, 0, n);
}

/* Applies an atomic operation to a word in GPU memory through the core, and returns the old value.
 */
uint64_t shmemi_amo_gpu(enum shmemi_amo op, int width, void *at, uint64_t operand, uint64_t compare,
                        const char *call)
{
    uint64_t fetched = 0;
    check(shmemi_state.core->gpu_amo(at, op, width, operand, compare, &fetched), call);
    return fetched;
}

/* Returns the present value of a word in GPU memory, by a copy of the driver. */
uint64_t shmemi_read_gpu(const void *at, size_t width, const char *call)
{
    uint64_t word = 0;
    check(shmemi_state.core->gpu_move(&word, at, width), call);
    return word;
}

/* Makes a team known to this PE's kernels, under its handle, by an entry in the table on the GPU.
 * Without a GPU it does nothing. */
void shmemi_kernels_show(const struct shmemi_team *t, shmem_team_t handle, const char *call)
{
    shmemi_archive_show(t, handle, call);
    struct shmemi_device_team shown = {
        .handle = handle, .n_pes = t->n, .me = t->me, .start = t->start, .stride = t->stride};
    if (!shmemi_state.gpu)
        return;
    /* A wait of a kernel on the team ends when more than shown.losses PEs are lost. The losses of
     * PEs outside the team, which kernels have counted or will count soon, end no such wait. */
    for (int pe = 0; shmemi_state.survives && pe < (int)shmemi_state.n_pes; pe++)
        shown.losses += shmemi_is_lost(pe) && shmemi_team_rank(t, pe) < 0;
    /* With a stride, start and stride of the team name its PEs, and no list of them is needed. */
    check(shmemi_state.core->team_show(t->slot, &shown, t->stride != 0 ? NULL : t->pes), call);
}

/* Removes a team from the table on the GPU, so that this PE's kernels no longer find it. */
void shmemi_kernels_hide(const struct shmemi_team *t, const char *call)
{
    shmemi_archive_hide(t, call);
    if (shmemi_state.gpu)
        check(shmemi_state.core->team_show(t->slot, /* team: none */ NULL, /* pes */ NULL), call);
}

/* Clears the words of a team slot in GPU memory, in which its last team has left values. */
void shmemi_kernels_renew(int slot, const char *call)
{
    shmemi_archive_renew(slot, call);
    if (shmemi_state.gpu)
        check(shmemi_state.core->team_renew(slot), call);
}
