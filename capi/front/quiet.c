/*
 * quiet.c: the quiet of one PE.
 */
#include "remote.h"

/* What is under way to other PEs is waited for as well: the engine completes what was
 * posted up to a ticket, whoever it is for. */
void shmemi_pe_quiet(int pe, const char *call)
{
    const struct shmemi_state *s = &shmemi_state;
    if (s->n_pes == 0)
        shmemi_refuse_uninitialised(call);
    if ((uint32_t)pe >= s->n_pes)
        shmemi_abort(call, "use 0 to shmem_n_pes() - 1", "PE %d does not exist, there are %u", pe,
                     s->n_pes);
    shmemi_quiet(call);
}
