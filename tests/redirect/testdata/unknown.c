/* unknown.c: names that only the other library has: an extension, one of profiling, a variable. */
#include "program.h"

#ifdef EXTENSION
#define CALL shmemx_alltoall_global_nb(NULL, NULL, 0, NULL)
#elif defined OLDEST
#define CALL say("%d", num_pes())
#elif defined PROFILING
void pshmem_barrier_all(void);
#define CALL pshmem_barrier_all()
#else
extern char *mca_spml; /* of what it is made is no matter */
#define CALL say("%d", mca_spml != NULL)
#endif

int main(int count, char **words)
{
    (void)words;
    begin();
    say("it runs");
    if (count > 5)
        CALL;
    shmem_finalize();
    return 0;
}
