/*
 * team.h: the teams that a kernel may name: the world, whose data is constant, and those in the
 * table that the host keeps up to date (struct shmemi_device_team).
 *
 * A handle is the same number in a kernel as on the host. An entry changes while kernels run, when
 * a team is made or destroyed, but not while the team is in use.
 */
#ifndef SHMEM_TEAM_H
#define SHMEM_TEAM_H

#include "order.h"
#include "work.h"
#include "zz_words.h"

#ifdef SHMEMI_KERNEL

/* The addresses of the parts of a team's work memory. */
struct shmemi_work {
    uint64_t *step;    /* the last step that this PE has finished */
    uint64_t *round;   /* the last round of data that this PE has sent */
    uint32_t *ticket;  /* blocks that have arrived (device/kernels) */
    uint32_t *turns;   /* a claim: 1 while a warp makes a collective call (device/bitcode) */
    uint64_t *rounds;  /* a flag for each round of a dissemination */
    uint64_t *arrived; /* a flag for each PE: its last step */
    uint64_t *pushed;  /* a flag for each PE: the last round of data it has sent */
    char *lines;       /* two sets of them, for short reductions */
    char *buffers;
};

/* A team as a call of a kernel reads it. A rank is the number of a PE in it. */
struct shmemi_members {
    int n, me;          /* number of PEs, and this PE's rank */
    int start, stride;  /* rank i is PE start + i * stride, */
    const int32_t *pes; /* or pes[i] where this is not NULL */
    uint32_t losses;    /* how many PEs were lost when it was made, none of them in it */
    uint64_t data;      /* bytes that the buffers have, at most */
    const struct shmemi_device_team *entry; /* in the table; NULL: the world */
    struct shmemi_work work;
};

/* Loads 8 bytes of the table of teams, which the host may change while kernels run. Two members of
 * 4 bytes are loaded together, the second in the upper half: handle and n, me and start, stride and
 * padding. */
SHMEMI_D uint64_t shmemi_team_word(const void *at)
{
    return shmemi_load_near((const uint64_t *)at);
}

/* Returns the PE of a rank in a team: by the team's start and stride, or from its list. The list is
 * loaded by a strong load, because the host writes it while other kernels run. */
SHMEMI_D int shmemi_pe_of(const struct shmemi_members *m, int rank)
{
    if (m->pes == NULL)
        return m->start + rank * m->stride;
    uint32_t pe;
    shmemi_load_element(m->pes + rank, &pe);
    return (int)pe;
}

/* Returns the PE of a rank from the team's entry in the table alone, for functions that do not keep
 * a struct shmemi_members. NULL is the world. */
SHMEMI_D int shmemi_pe_at(const struct shmemi_device_team *t, int rank)
{
    if (t == NULL)
        return rank;
    const int32_t *pes = (const int32_t *)(uintptr_t)shmemi_team_word(&t->pes);
    if (pes == NULL)
        return (int)(shmemi_team_word(&t->me) >> 32) + rank * (int)shmemi_team_word(&t->stride);
    uint32_t pe;
    shmemi_load_element(pes + rank, &pe);
    return (int)pe;
}

/* Returns the rank of a PE in a team, or -1 if it is not in the team. */
SHMEMI_D int shmemi_rank_of(const struct shmemi_members *m, int pe)
{
    if (m->pes == NULL && m->stride != 0) {
        int rank = (pe - m->start) / m->stride;
        return rank >= 0 && rank < m->n && shmemi_pe_of(m, rank) == pe ? rank : -1;
    }
    for (int rank = 0; rank < m->n; rank++)
        if (shmemi_pe_of(m, rank) == pe)
            return rank;
    return -1;
}

/* Fills in m for SHMEM_TEAM_WORLD, which has no entry in the table, but not its work memory. */
SHMEMI_D void shmemi_world(const struct shmemi_device_image *image, struct shmemi_members *m)
{
    m->n = image->job.n_pes;
    m->me = image->job.me;
    m->start = 0;
    m->stride = 1;
    m->pes = NULL;
    m->losses = 0;
    m->entry = NULL;
}

/* Returns the entry of a team that is not the world, or NULL if the handle is not a team. Stores in
 * n how many PEs the team has. The low SHMEMI_TEAM_BITS bits of a handle are the team's place in
 * the table, and SHMEM_TEAM_SHARED has place 0. The entry repeats the handle, because a later team
 * may have the place of an earlier one. */
SHMEMI_D const struct shmemi_device_team *shmemi_team_entry(const struct shmemi_device_image *image,
                                                            shmemi_team_t team, int *n)
{
    uint32_t place =
        team == SHMEMI_TEAM_SHARED ? 0 : (uint32_t)team & ((1u << SHMEMI_TEAM_BITS) - 1);
    const struct shmemi_device_team *t =
        (const struct shmemi_device_team *)image->job.teams + place;
    if (team < 0 || place >= image->job.team_count)
        return NULL;
    uint64_t head = shmemi_team_word(&t->handle);
    *n = (int)(head >> 32);
    return (int32_t)head == team ? t : NULL;
}

/* Fills in a team from its entry, except for the number of PEs and the work memory. */
SHMEMI_D void shmemi_team_read(const struct shmemi_device_team *t, struct shmemi_members *m)
{
    uint64_t place = shmemi_team_word(&t->me);
    m->entry = t;
    m->me = (int)place;
    m->start = (int)(place >> 32);
    m->stride = (int)shmemi_team_word(&t->stride);
    m->pes = (const int32_t *)(uintptr_t)shmemi_team_word(&t->pes);
    m->losses = (uint32_t)shmemi_team_word(&t->losses);
}

/*
 * Finds a team by its handle and fills in everything but the work memory. Returns 1, or 0 if there
 * is no such team, or for SHMEM_TEAM_INVALID.
 */
SHMEMI_D int shmemi_team_find(const struct shmemi_device_image *image, shmemi_team_t team,
                              struct shmemi_members *m)
{
    if (team == SHMEMI_TEAM_WORLD) {
        shmemi_world(image, m);
        return 1;
    }
    const struct shmemi_device_team *t = shmemi_team_entry(image, team, &m->n);
    if (t == NULL)
        return 0;
    shmemi_team_read(t, m);
    return 1;
}

/* Fills in the addresses of the parts of a team's work memory, which begins at base; the team has n
 * PEs. */
SHMEMI_D void shmemi_work_at(uint64_t base, uint64_t n, struct shmemi_work *w)
{
    char *at = (char *)(uintptr_t)base;
    w->step = (uint64_t *)(void *)at;
    w->round = w->step + 1;
    w->ticket = (uint32_t *)(void *)(w->step + 2);
    w->turns = w->ticket + 1;
    w->rounds = (uint64_t *)(void *)(at + SHMEMI_WORK_ROUNDS);
    w->arrived = (uint64_t *)(void *)(at + SHMEMI_WORK_HEAD);
    w->pushed = w->arrived + n;
    w->lines = at + shmemi_work_lines(n);
    w->buffers = at + shmemi_work_buffers(n);
}

/*
 * Fills in a team that is not the world, from its entry in the table, for a collective. Stops the
 * kernel if the handle is not a team, or if the team has no memory for collectives of kernels; such
 * a report has the team in place of a PE. Inlined: a function would keep the members in local
 * memory.
 */
SHMEMI_D void shmemi_team_load(const struct shmemi_device_image *image, uint32_t call,
                               shmemi_team_t team, struct shmemi_members *m)
{
    const struct shmemi_device_team *t = shmemi_team_entry(image, team, &m->n);
    if (t == NULL)
        shmemi_fault(image, SHMEMI_FAULT_TEAM, call, team, 0, 0);
    uint64_t n = (uint64_t)m->n, work = shmemi_team_word(&t->work);
    if (work == 0)
        shmemi_fault(image, SHMEMI_FAULT_WORK, call, team, 0, shmemi_work_team(n));
    shmemi_team_read(t, m);
    shmemi_work_at(work, n, &m->work);
    m->data = shmemi_team_word(&t->work_size) - shmemi_work_buffers(n);
}

/*
 * Fills in a team, by its handle, for a collective. Returns 0, or -1 for SHMEM_TEAM_INVALID, as the
 * host does; any other number that is not a team stops the kernel.
 */
SHMEMI_D int shmemi_team_open(const struct shmemi_device_image *image, uint32_t call,
                              shmemi_team_t team, struct shmemi_members *m)
{
    shmemi_check_init(image, call);
    if (team == SHMEMI_TEAM_INVALID)
        return -1;
    if (team != SHMEMI_TEAM_WORLD) {
        shmemi_team_load(image, call, team, m);
        return 0;
    }
    uint64_t n = (uint64_t)image->job.n_pes;
    if (image->job.work_size == 0)
        shmemi_fault(image, SHMEMI_FAULT_WORK, call, team, 0, shmemi_work_size(n));
    shmemi_world(image, m);
    shmemi_work_at(image->job.work, n, &m->work);
    m->data = SHMEMI_WORK_DATA;
    return 0;
}

#endif

#endif
