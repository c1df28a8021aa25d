/*
 * setup.h: this PE's number, how many PEs the job has, and the addresses of their memory.
 */
#ifndef SHMEM_SETUP_H
#define SHMEM_SETUP_H

#include "team.h"

#ifdef SHMEMI_KERNEL

/* Returns the number of this PE in the world team. */
SHMEMI_D int shmemi_my_pe(const struct shmemi_device_image *image, uint32_t call)
{
    shmemi_check_init(image, call);
    return image->job.me;
}

/* Returns the number of PEs of the job. */
SHMEMI_D int shmemi_n_pes(const struct shmemi_device_image *image, uint32_t call)
{
    shmemi_check_init(image, call);
    return image->job.n_pes;
}

/* Returns the address for loads and stores of PE pe's copy of a symmetric object; NULL if this GPU
 * cannot address the PE's memory, or if the object is not in the heap. */
SHMEMI_D void *shmemi_ptr(const struct shmemi_device_image *image, uint32_t call, const void *dest,
                          int pe)
{
    shmemi_check_pe(image, call, pe, dest, 0 /* bytes */);
    uint64_t at = (uint64_t)(uintptr_t)dest - image->job.heap;
    return at >= image->job.heap_size ? NULL : shmemi_direct(image, dest, pe);
}

/* Returns this PE's rank in a team, or -1 if there is no such team, or for SHMEM_TEAM_INVALID. */
SHMEMI_D int shmemi_team_my_pe(const struct shmemi_device_image *image, uint32_t call,
                               shmemi_team_t team)
{
    struct shmemi_members m;
    shmemi_check_init(image, call);
    return shmemi_team_find(image, team, &m) ? m.me : -1;
}

/* Returns the number of PEs of a team, or -1 if there is no such team, or for SHMEM_TEAM_INVALID.
 */
SHMEMI_D int shmemi_team_n_pes(const struct shmemi_device_image *image, uint32_t call,
                               shmemi_team_t team)
{
    struct shmemi_members m;
    shmemi_check_init(image, call);
    return shmemi_team_find(image, team, &m) ? m.n : -1;
}

/* Returns the rank in team `to` of the PE whose rank in team `from` is pe, or -1 if a team does not
 * exist or the PE is not in both. */
SHMEMI_COLD int shmemi_team_translate_pe(const struct shmemi_device_image *image, uint32_t call,
                                         shmemi_team_t from, int pe, shmemi_team_t to)
{
    struct shmemi_members m;
    shmemi_check_init(image, call);
    if (!shmemi_team_find(image, from, &m) || (uint32_t)pe >= (uint32_t)m.n)
        return -1;
    pe = shmemi_pe_of(&m, pe);
    return shmemi_team_find(image, to, &m) ? shmemi_rank_of(&m, pe) : -1;
}

/*
 * Ends the job: reports the exit status to the host, and waits until the host has set the lower
 * half of job.stop to all ones, which means that the job ends. The kernel does not trap: its
 * process would find an error of the GPU, and might end with a status of its own before the job
 * does.
 */
__attribute__((noreturn)) SHMEMI_COLD void
shmemi_global_exit(const struct shmemi_device_image *image, uint32_t call, int status)
{
    shmemi_check_init(image, call);
    shmemi_report_fault(image, SHMEMI_FAULT_EXIT, call, image->job.me, 0, (uint32_t)status);
    while (image->job.stop != NULL &&
           (uint32_t)shmemi_load_far((const uint64_t *)image->job.stop) != UINT32_MAX)
        ;
    shmemi_end();
}

#endif

#endif
