/*
 * counters.c: the calls that read counters.
 */
#include "counters.h"

#include "error.h"

#include <string.h>

/* Returns the functions of the core. Ends the program if the library is not initialised. */
static const struct shmemi_core *core_of(const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    return shmemi_state.core;
}

/* Returns the number of counters of this PE. */
int shmemi_counter_count(const char *call)
{
    int n = 0;
    while (shmemi_counter_name(n, call) != NULL)
        n++;
    return n;
}

/* Returns the name of a counter; NULL if there is none with this number. */
const char *shmemi_counter_name(int id, const char *call)
{
    return core_of(call)->counter_name(id);
}

/* Returns the number of the counter with a name, or -1. core_of is called for its check of init
 * alone: after init there is always a core. */
int shmemi_counter_find(const char *name, const char *call)
{
    const char *have;
    if (core_of(call) == NULL || name == NULL)
        return -1;
    for (int i = 0; (have = shmemi_counter_name(i, call)) != NULL; i++)
        if (strcmp(name, have) == 0)
            return i;
    return -1;
}

/* Sets *value to the value of a counter of operations: of those to PE pe, or of all if pe is -1.
 * Returns 0, or -1 if there is no such counter. */
int shmemi_counter_get(int id, int pe, uint64_t *value, const char *call)
{
    return core_of(call)->counter(id, pe, value);
}

/* Returns the number of NICs that this PE uses. */
int shmemi_counter_nics(const char *call)
{
    int n = 0;
    while (shmemi_counter_nic_name(n, call) != NULL)
        n++;
    return n;
}

/* Returns the name of a NIC by its number, or NULL. */
const char *shmemi_counter_nic_name(int nic, const char *call)
{
    return core_of(call)->nic_name(nic);
}

/* Sets *value to a counter of one NIC. Returns 0, or -1 if the counter is not counted for each NIC,
 * or there is no such NIC. */
int shmemi_counter_get_nic(int id, int nic, uint64_t *value, const char *call)
{
    return core_of(call)->counter_nic(id, nic, value);
}
