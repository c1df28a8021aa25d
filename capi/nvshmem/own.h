/*
 * own.h: functions of libshmem_nvshmem.so that do more than call one of libshmem.so.
 */
#ifndef NVSHMEMI_OWN_H
#define NVSHMEMI_OWN_H

#include "../front/below.h"

#include <nvshmem/host/nvshmem_api.h>

#include <stdbool.h>

struct CUstream_st;

/* The floating-point types of GPUs, which C passes and returns by their bits. */
struct __half {
    uint16_t bits;
};
struct __nv_bfloat16 {
    uint16_t bits;
};

/* below.c. The function of libshmem.so with a name; NULL if there is none. */
void *nvshmemi_below(const char *name);

/* Returns libshmem's operation for a signal operation of NVSHMEM. All except SET add: programs
 * built with older releases use other numbers for ADD. */
static inline int nvshmemi_signal_of(int op)
{
    return op == NVSHMEM_SIGNAL_SET ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
}

/* strided.c. Implement nvshmemx_TYPE_iput_on_stream and _iget_on_stream: dst and sst are the
 * strides of dest and source in elements of size bytes. call is the name of the program's call, for
 * messages, here and below. */
void nvshmemi_iput_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                             size_t nelems, size_t size, int pe, struct CUstream_st *stream,
                             const char *call);
void nvshmemi_iget_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                             size_t nelems, size_t size, int pe, struct CUstream_st *stream,
                             const char *call);

/* half.c. The reductions of half and bfloat16, which combine two arrays of elements. */
extern const struct shmemi_reducer nvshmemi_half_max, nvshmemi_half_min, nvshmemi_half_sum,
    nvshmemi_half_prod, nvshmemi_bfloat16_max, nvshmemi_bfloat16_min, nvshmemi_bfloat16_sum,
    nvshmemi_bfloat16_prod;

/* atomics.c. Atomic additions; they return the number before the addition. */
float nvshmemi_add_float(float *dest, float value, int pe);
double nvshmemi_add_double(double *dest, double value, int pe);
struct __half nvshmemi_add_half(struct __half *dest, struct __half value, int pe);

/* teams.c. Each implements the function nvshmem_ or nvshmemx_ of the same name. The splits return
 * what OpenSHMEM's return; get_uniqueid and init return 0 or, after a message, an error. */
void nvshmemi_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config);
int nvshmemi_team_split_strided(nvshmem_team_t parent, int start, int stride, int size,
                                const nvshmem_team_config_t *config, long mask,
                                nvshmem_team_t *new_team);
int nvshmemi_team_split_2d(nvshmem_team_t parent, int xrange, const nvshmem_team_config_t *xconfig,
                           long xmask, nvshmem_team_t *xteam, const nvshmem_team_config_t *yconfig,
                           long ymask, nvshmem_team_t *yteam);
int nvshmemi_team_get_uniqueid(nvshmemx_team_uniqueid_t *id, const char *call);
int nvshmemi_team_init(nvshmem_team_t *team, const nvshmem_team_config_t *config, long mask, int n,
                       int rank, const char *call);
void *nvshmemi_mc_ptr(nvshmem_team_t team, const void *ptr);

/* twice.c. Prints a warning if another library with NVIDIA's soname is loaded. */
void nvshmemi_warn_of_another(const char *call);
/* Reports whether the process has this project's library with NVIDIA's soname, which is
 * libnvshmem_host.so.3. */
bool nvshmemi_has_host_library(void);
/* Returns the address of a variable of that library; NULL if it is not there. */
void *nvshmemi_host_variable(const char *name);

/* openshmem.c. Reports whether init has to join a job with the PEs of another OpenSHMEM library. */
bool nvshmemi_joins_openshmem(void);
/* Joins such a job. Returns 0, or an error that has been printed. */
int nvshmemi_init_with_shmem(const char *call);

/* start.c. Each implements the function nvshmem_ or nvshmemx_ of the same name. The heap of a
 * program of NVSHMEM is in GPU memory. The first allocation fixes which GPU each PE uses. */
void nvshmemi_init(const char *call);
int nvshmemi_init_thread(int requested, int *provided, const char *call);
void *nvshmemi_malloc(size_t size);
void *nvshmemi_calloc(size_t count, size_t size);
void *nvshmemi_align(size_t alignment, size_t size);
int nvshmemi_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr);
int nvshmemi_hostlib_init_attr(unsigned int flags, const nvshmemx_init_attr_t *attr);
int nvshmemi_get_uniqueid(nvshmemx_uniqueid_t *id);
int nvshmemi_set_attr_uniqueid_args(int rank, int n, const nvshmemx_uniqueid_t *id,
                                    nvshmemx_init_attr_t *attr);
int nvshmemi_set_attr_mpi_comm_args(void *comm, nvshmemx_init_attr_t *attr);
int nvshmemi_init_status(void);
void nvshmemi_info_get_version(int *major, int *minor);
void nvshmemi_vendor_get_version_info(int *major, int *minor, int *patch);
const char *nvshmemi_status_string(int status);

/* buffers.c. Each implements the function nvshmemx_ of the same name, and returns, if it has a
 * result, 0 or an error. */
int nvshmemi_qp_create(int n, nvshmemx_qp_handle_t **handles);
void nvshmemi_signal_counted_reset(uint64_t *counter);
int nvshmemi_buffer_register(void *buffer, size_t length);
int nvshmemi_buffer_unregister(void *buffer);
int nvshmemi_region_start(nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs);
int nvshmemi_region_stop(nvshmemx_region_handle_t handle);
int nvshmemi_region_is_active(uint32_t hints, int *active);

#endif
