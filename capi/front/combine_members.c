/*
 * combine_members.c: combines elements that members of a team have at one symmetric address.
 */
#include "combine_members.h"

#include "address.h"
#include "front.h"

/* Combines the members' elements like shmemi_combine_members, but only so few that they fit into
 * SHMEMI_PIECE bytes. */
static void combine_piece(struct shmemi_team *t, const int32_t *ranks, uint32_t n, void *acc,
                          const void *at, size_t nelems, const struct shmemi_reducer *reducer,
                          const char *call)
{
    size_t bytes = nelems * reducer->size;
    _Alignas(SHMEMI_CACHE_LINE) char fetched[SHMEMI_PIECE];
    for (uint32_t i = 0; i < n; i++) {
        int pe = t->pes[ranks != NULL ? ranks[i] : (int)i];
        const void *in = shmemi_near(at, pe);
        if (in == NULL) {
            shmemi_get(SHMEM_CTX_DEFAULT, fetched, at, bytes, pe, call);
            in = fetched;
        }
        if (i == 0)
            memcpy(acc, in, bytes);
        else
            reducer->combine(acc, in, nelems);
    }
}

/* Stores in acc the combination of the elements that n members have at the symmetric address `at`.
 * It combines pieces of SHMEMI_PIECE bytes: a piece of the result stays in the second-level cache
 * while the elements of all members are combined with it. */
void shmemi_combine_members(struct shmemi_team *t, const int32_t *ranks, uint32_t n, void *acc,
                            const void *at, size_t nelems, const struct shmemi_reducer *reducer,
                            const char *call)
{
    size_t size = reducer->size, piece = SHMEMI_PIECE / size;
    for (size_t done = 0; done < nelems; done += piece) {
        size_t k = nelems - done < piece ? nelems - done : piece;
        combine_piece(t, ranks, n, (char *)acc + done * size, (const char *)at + done * size, k,
                      reducer, call);
    }
}
