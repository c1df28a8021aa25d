/*
 * team_ids.c: the slots of teams, and their handles.
 */
#include "team_ids.h"

#include "agree.h"
#include "archive_memory.h"
#include "error.h"
#include "gpu.h"
#include "spell.h"
#include "team.h"

#include <pthread.h>
#include <stdlib.h>

/* The slots of this PE: the team in each, and how many handles the slot's teams have had. */
enum { FIRST_SLOT = SHMEMI_FIRST_TEAM_ID };
static struct shmemi_team *teams[SHMEMI_TEAM_SLOTS];
static uint32_t generations[SHMEMI_TEAM_SLOTS];

/* The places in the memory for rounds that teams of this PE have, as bits. The first two belong to
 * predefined teams. */
enum { PLACES_OF_ALWAYS = 2 };
static uint64_t places;
_Static_assert(SHMEMI_ROUNDS_PLACES <= 64, "a place has a bit");
/* Guards changes of teams and places. Teams are read without it: a claim checks again. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The predefined teams but the world, by handle; a team without PEs does not exist. */
struct shmemi_team shmemi_always[SHMEMI_FIRST_TEAM_ID];

/* Sets up the memory of a team slot for the team t: its inbox, the lines, the scratch memory and
 * the memory of agreements, in this order, and clears the words that other PEs write. Returns 0, or
 * -1 if there is no memory. */
int shmemi_team_id_occupy(struct shmemi_team *t, int slot, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    shmemi_kernels_renew(slot, call);
    char *my_base = s->peer_base[s->my_pe];
    int64_t area = (int64_t)(s->team_size * (size_t)slot) - (int64_t)s->teams_offset;
    int64_t scratch = shmemi_team_place_inbox(t, area);
    t->slot = slot;
    t->scratch = my_base + scratch;
    /* Two sets of slots share what is left between the lines and the agreements. */
    t->round_size = (s->team_size - s->agree_size - (size_t)(scratch - area)) / 2;
    t->slot_size = SHMEMI_TEAM_SLOT;
    shmemi_team_rounds(t);
    free(t->sent); /* the team may have occupied another slot, in an earlier try */
    free(t->seen);
    t->sent = calloc((size_t)t->n, sizeof *t->sent);
    t->seen = calloc((size_t)t->n, sizeof *t->seen);
    memset(my_base + area, 0, (size_t)(scratch - area));
    int rc = shmemi_agree_open(t, (uint32_t)slot);
    return t->sent == NULL || t->seen == NULL ? -1 : rc;
}

/* Returns the handle of the team that is in a slot now. Kernels of NVIDIA's device archive use
 * handles as indices. */
static shmem_team_t handle_of(int slot)
{
    if (shmemi_archive_wanted())
        return slot;
    return (shmem_team_t)((generations[slot] << SHMEMI_TEAM_BITS | (uint32_t)slot) & INT32_MAX);
}

/* Calls show for each team but the world, with its handle. */
void shmemi_team_ids_each(void (*show)(const struct shmemi_team *t, shmem_team_t handle,
                                       const char *call),
                          const char *call)
{
    for (int i = 0; i < FIRST_SLOT; i++)
        if (shmemi_always[i].n > 0)
            show(&shmemi_always[i], i, call);
    for (int slot = FIRST_SLOT; slot < SHMEMI_TEAM_SLOTS; slot++)
        if (teams[slot] != NULL)
            show(teams[slot], handle_of(slot), call);
}

/* Returns the highest slot that a team of this PE occupies: FIRST_SLOT - 1, the last slot of a
 * predefined team, if the program has made no team. */
int shmemi_team_ids_highest(void)
{
    int slot = SHMEMI_TEAM_SLOTS - 1;
    while (slot >= FIRST_SLOT && teams[slot] == NULL)
        slot--;
    return slot;
}

/* At finalize: frees the teams that the program has made. */
void shmemi_slots_close(void)
{
    for (int slot = FIRST_SLOT; slot < SHMEMI_TEAM_SLOTS; slot++) {
        if (teams[slot] == NULL)
            continue;
        shmemi_team_drop(teams[slot]);
        teams[slot] = NULL;
    }
    places = 0;
}

/* Reports whether a team exists that the program has made. */
bool shmemi_teams_made(void)
{
    for (int slot = FIRST_SLOT; slot < SHMEMI_TEAM_SLOTS; slot++)
        if (teams[slot] != NULL)
            return true;
    return false;
}

/* ------------------------------------------------------------------- handles */

/* Returns a handle for a team that has entered its slot, and makes the team known to kernels. No
 * earlier team of the slot has had the handle, and it is not the number of the slot, as that of a
 * predefined team is. In jobs with NVIDIA's device archive it is always that number (handle_of). */
shmem_team_t shmemi_team_id_name(const struct shmemi_team *t, const char *call)
{
    do
        generations[t->slot]++;
    while (handle_of(t->slot) == t->slot && !shmemi_archive_wanted());
    shmemi_kernels_show(t, handle_of(t->slot), call);
    return handle_of(t->slot);
}

/* Returns the predefined team with this handle, other than the world; NULL if there is none, or it
 * has no PEs. */
struct shmemi_team *shmemi_team_always(shmem_team_t team)
{
    return team >= 0 && team < SHMEMI_FIRST_TEAM_ID && shmemi_always[team].n > 0
               ? &shmemi_always[team]
               : NULL;
}

/* Ends the program because no team has the handle, and says whether the team was destroyed. known:
 * an earlier team of the slot had this handle. A handle of another library is a pointer or a small
 * number, which is never a handle of a team that a program made. */
static SHMEMI_COLD __attribute__((noreturn)) void refuse(shmem_team_t team, bool known,
                                                         const char *call)
{
    if (known && team >> SHMEMI_TEAM_BITS > 0)
        shmemi_abort(call, "use its handle before shmem_team_destroy only", "team %d was destroyed",
                     (int)team);
    shmemi_abort(call,
                 shmemi_is_nvshmem()
                     ? "pass SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED or a team that a split of this "
                       "library has made"
                     : "pass SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED or a team that a split has made",
                 "team %d does not exist", (int)team);
}

/* Returns the team with a handle; NULL for SHMEM_TEAM_INVALID, and for a predefined team without
 * PEs. Ends the program for a handle without a team. */
struct shmemi_team *shmemi_team_of(shmem_team_t team, const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.n_pes == 0))
        shmemi_refuse_uninitialised(call);
    if (SHMEMI_LIKELY(team == SHMEM_TEAM_WORLD))
        return &shmemi_world;
    if (team == SHMEM_TEAM_INVALID)
        return NULL;
    if (team > 0 && team < FIRST_SLOT)
        return shmemi_team_always(team);
    int slot = team & (SHMEMI_TEAM_SLOTS - 1);
    if (team < 0 || slot < FIRST_SLOT || teams[slot] == NULL || handle_of(slot) != team)
        refuse(team, team >= 0 && generations[slot] >= (uint32_t)team >> SHMEMI_TEAM_BITS, call);
    return teams[slot];
}

/* ------------------------------------------------------------- free and taken */

/* Sets a bit for each team slot, and for each place in the memory for rounds, that is free at this
 * PE. */
void shmemi_team_ids_free(uint64_t *out)
{
    memset(out, 0, SHMEMI_TEAM_SLOTS / 8);
    uint32_t slots = shmemi_archive_slots(shmemi_state.max_teams);
    for (uint32_t slot = FIRST_SLOT; slot < slots && slot < SHMEMI_FIRST_PLACE; slot++)
        if (teams[slot] == NULL)
            out[slot / 64] |= (uint64_t)1 << slot % 64;
    pthread_mutex_lock(&mutex);
    for (int place = PLACES_OF_ALWAYS; place < SHMEMI_ROUNDS_PLACES; place++)
        out[SHMEMI_FIRST_PLACE / 64] |= ~places & (uint64_t)1 << place;
    pthread_mutex_unlock(&mutex);
}

/* Returns the number of the i-th bit that is set, of those from `first` to end - 1, less `first`;
 * -1 if there are not so many. */
static int bit_at(const uint64_t *bits, int first, int end, int i)
{
    for (int at = first; at < end; at++)
        if ((bits[at / 64] >> at % 64 & 1) && i-- == 0)
            return at - first;
    return -1;
}

/* Returns the slot and the place of the i-th new team of a call. The place depends on nothing but
 * the bits and i: not on whether the PE's other new team needs one, which its members know each of
 * their own. */
struct shmemi_team_id shmemi_team_ids_choose(const uint64_t *free, int i)
{
    return (struct shmemi_team_id){bit_at(free, 0, SHMEMI_FIRST_PLACE, i),
                                   bit_at(free, SHMEMI_FIRST_PLACE, SHMEMI_TEAM_SLOTS, i)};
}

/* Returns a new team of the n PEs in pes, an array that the team then owns. If there is no memory,
 * it frees pes and returns NULL. */
struct shmemi_team *shmemi_team_new(int32_t *pes, int n, int num_contexts)
{
    struct shmemi_team *t = calloc(1, sizeof *t);
    if (t == NULL) {
        free(pes);
        return NULL;
    }
    *t = (struct shmemi_team){.n = n, .pes = pes, .num_contexts = num_contexts};
    if (shmemi_team_place(t) == 0)
        return t;
    shmemi_team_drop(t);
    return NULL;
}

/* Frees a team that is in no slot; it may be NULL. */
void shmemi_team_drop(struct shmemi_team *t)
{
    if (t != NULL)
        shmemi_team_free(t);
    free(t);
}

/* Returns the bit of a team's place in the memory for rounds, 0 if it has none. */
static uint64_t place_of(const struct shmemi_team *t)
{
    return t->rounds_place < 0 ? 0 : (uint64_t)1 << t->rounds_place;
}

/* Enters the n teams of `made`, of which some may be NULL, into their slots, all or none, and gives
 * those on several nodes their places. Returns false if another thread has occupied a slot or a
 * place meanwhile. */
bool shmemi_team_ids_claim(struct shmemi_team **made, const struct shmemi_team_id *ids, int n)
{
    bool free = true;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < n; i++) {
        if (made[i] == NULL)
            continue;
        made[i]->rounds_place = made[i]->n_nodes > 1 ? ids[i].rounds : -1;
        free &= teams[ids[i].slot] == NULL && !(places & place_of(made[i]));
    }
    for (int i = 0; free && i < n; i++)
        if (made[i] != NULL) {
            teams[ids[i].slot] = made[i];
            places |= place_of(made[i]);
        }
    pthread_mutex_unlock(&mutex);
    return free;
}

/* Takes a team out of its slot, and gives its place back; the caller has locked the mutex. */
static void leave_slot(const struct shmemi_team *t, int slot)
{
    teams[slot] = NULL;
    places &= ~place_of(t);
}

/* Removes teams from their slots again. */
void shmemi_team_ids_disclaim(struct shmemi_team **made, const struct shmemi_team_id *ids, int n)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < n; i++)
        if (made[i] != NULL && ids[i].slot >= 0 && teams[ids[i].slot] == made[i])
            leave_slot(made[i], ids[i].slot);
    pthread_mutex_unlock(&mutex);
}

/* Frees the slot of a team, and the team. */
void shmemi_slot_release(struct shmemi_team *t)
{
    pthread_mutex_lock(&mutex);
    leave_slot(t, t->slot);
    pthread_mutex_unlock(&mutex);
    shmemi_team_drop(t);
}
