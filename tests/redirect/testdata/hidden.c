/* hidden.c: a library that exports nothing, and calls a name that only the other library has. */
void pshmem_barrier_all(void);

static volatile int called;

__attribute__((destructor)) static void leave(void)
{
    if (called > 0)
        pshmem_barrier_all();
}
