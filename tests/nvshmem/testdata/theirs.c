/*
 * theirs.c: with THEIRS, a library in the place of NVIDIA's: its soname, its version node, and few
 * of its names. Without, a library in the place of torch's, which needs it.
 */
#ifdef THEIRS
void nvshmem_init(void);
int nvshmem_n_pes(void);

static int inits;

void nvshmem_init(void)
{
    inits++;
}

int nvshmem_n_pes(void)
{
    return 1000 + inits;
}
#else
void nvshmem_init(void);
int nvshmem_n_pes(void);
int torch_works(void);

int torch_works(void)
{
    nvshmem_init();
    return nvshmem_n_pes() == 1001;
}
#endif
