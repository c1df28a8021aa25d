/* nvidia.c: a library in the place of NVIDIA's libnvshmem_host.so.3. None of its functions may be
 * called. */
#include <stdlib.h>

#define FUNCTION(name)                                                                             \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        abort();                                                                                   \
    }

FUNCTION(nvshmem_init)
FUNCTION(nvshmemx_hostlib_init_attr)
FUNCTION(nvshmemx_hostlib_finalize)
FUNCTION(nvshmem_my_pe)
FUNCTION(nvshmem_n_pes)
FUNCTION(nvshmem_malloc)
FUNCTION(nvshmem_free)
FUNCTION(nvshmem_long_p)
FUNCTION(nvshmem_barrier_all)
FUNCTION(nvshmem_team_n_pes)
FUNCTION(nvshmem_finalize)
FUNCTION(nvshmemid_init_status)
FUNCTION(nvshmemid_hostlib_init_attr)
FUNCTION(nvshmemi_init)
FUNCTION(nvshmemi_finalize)
