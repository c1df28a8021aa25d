/*
 * archive_memory.c: the memory that kernels of NVIDIA's device archive use, and the teams in it.
 */
#include "archive_memory.h"

#include "error.h"

#include <stdlib.h>

struct shmemi_archive_memory shmemi_archive_memory;

/* Reports whether a process of the job is a program that was built against NVIDIA's library. */
bool shmemi_archive_wanted(void)
{
    return shmemi_archive_memory.wanted;
}

/* Sets what shmemi_archive_wanted returns. */
void shmemi_archive_keep(bool wanted)
{
    shmemi_archive_memory.wanted = wanted;
    shmemi_state.archive = wanted;
}

/* Copies n bytes to the memory for kernels, or to a program's variable. Returns 0 (SHMEMI_DONE), or
 * not 0 if the driver refuses the copy. */
int shmemi_archive_put(uint64_t at, const void *from, size_t n)
{
    return shmemi_state.core->gpu_move((void *)(uintptr_t)at, from, n);
}

/* Returns the address of the memory for kernels. */
uint64_t shmemi_archive_address(void)
{
    return (uint64_t)(uintptr_t)shmemi_archive_memory.block;
}

/* ---------------------------------------------------------------------- teams */

/* Returns how many of the job's `slots` team slots new teams may occupy: once kernels of the
 * archive are served, no more than they have memory for. */
uint32_t shmemi_archive_slots(uint32_t slots)
{
    const uint32_t teams = shmemi_archive_memory.places.n_teams;
    return shmemi_archive_memory.serves && slots > teams ? teams : slots;
}

/* Clears what kernels have left in the memory of a team's slot, and sets its two counters to 1, as
 * they are before the first collective. Each family of releases of NVSHMEM has such memory. Does
 * nothing for a slot beyond those for which there is memory. */
void shmemi_archive_renew(int slot, const char *call)
{
    const struct shmemi_archive_places *p = &shmemi_archive_memory.places;
    static const long ones[2] = {1, 1};
    if (shmemi_archive_memory.status != SHMEMI_ARCHIVE_READY || slot >= (int)p->n_teams)
        return;
    for (int f = 0; f < SHMEMI_ARCHIVE_FAMILIES; f++) {
        size_t bytes = shmemi_archive_psync(f, (int)shmemi_state.n_pes) * sizeof(long);
        char *psync = shmemi_archive_memory.block + p->psync[f] + (size_t)slot * bytes;
        if (shmemi_state.core->gpu_clear(psync, bytes) != SHMEMI_DONE ||
            shmemi_archive_put(shmemi_archive_address() + p->sync[f] + (size_t)slot * sizeof ones,
                               ones, sizeof ones) != 0)
            shmemi_abort(call, NULL, "%s", shmemi_state.core->error());
    }
}

/* Stores the addresses of a team in the tables of teams, one for each family; 0: no such team. */
static void store_addresses(int handle, const uint64_t *addresses, const char *call)
{
    for (int f = 0; f < SHMEMI_ARCHIVE_FAMILIES; f++)
        if (shmemi_archive_put(shmemi_archive_address() + shmemi_archive_memory.places.pool[f] +
                                   (size_t)handle * sizeof *addresses,
                               &addresses[f], sizeof *addresses) != 0)
            shmemi_abort(call, NULL, "%s", shmemi_state.core->error());
}

/* Makes a team known to kernels of the archive, under its handle. Does nothing for a handle beyond
 * those for which there is memory. The addresses of a team are stored last, when it is complete. */
void shmemi_archive_show(const struct shmemi_team *t, shmem_team_t handle, const char *call)
{
    const struct shmemi_archive_places *p = &shmemi_archive_memory.places;
    uint64_t addresses[SHMEMI_ARCHIVE_FAMILIES];
    if (shmemi_archive_memory.status != SHMEMI_ARCHIVE_READY || handle < 0 ||
        handle >= (int)p->n_teams)
        return;
    void *team = malloc(p->team);
    for (int f = 0; f < SHMEMI_ARCHIVE_FAMILIES; f++) {
        addresses[f] = shmemi_archive_address() + p->teams[f] + (size_t)handle * p->team;
        if (team != NULL)
            shmemi_archive_fill_team(team, f, p, t, (int)handle, addresses[f],
                                     !shmemi_archive_memory.by_channel);
        if (team == NULL || shmemi_archive_put(addresses[f], team, p->team) != 0)
            shmemi_abort(call, NULL, "team %d: %s", (int)handle,
                         team == NULL ? "no memory" : shmemi_state.core->error());
    }
    free(team);
    store_addresses((int)handle, addresses, call);
}

/* Removes a team that the program has made. In a job that serves the archive, the handle under
 * which it is shown is the number of its slot. */
void shmemi_archive_hide(const struct shmemi_team *t, const char *call)
{
    static const uint64_t none[SHMEMI_ARCHIVE_FAMILIES];
    if (shmemi_archive_memory.status == SHMEMI_ARCHIVE_READY &&
        t->slot < (int)shmemi_archive_memory.places.n_teams)
        store_addresses(t->slot, none, call);
}

/* At finalize: forgets the memory, which ends with the heap. */
void shmemi_archive_end(void)
{
    shmemi_archive_memory = (struct shmemi_archive_memory){0};
    shmemi_state.archive = 0;
}
