/*
 * load.h: libfabric without linking it. Include this instead of libfabric's own headers: it hides
 * the entry points that load.c defines. Otherwise libfabric's calls of its own functions would bind
 * to load.c.
 */
#ifndef SHMEMI_OFI_LOAD_H
#define SHMEMI_OFI_LOAD_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#define HIDDEN(name) extern __typeof__(name) name __attribute__((visibility("hidden")))
HIDDEN(fi_version);
HIDDEN(fi_getinfo);
HIDDEN(fi_freeinfo);
HIDDEN(fi_dupinfo);
HIDDEN(fi_fabric);
HIDDEN(fi_strerror);
#undef HIDDEN

/*
 * Sets the variables of libfabric that its providers read when they start, unless the user has set
 * them. The process keeps them. Returns 0, or -1 without memory for them.
 */
int shmemi_ofi_set_options(void);

/*
 * Opens the library. With present, only when the process has it already.
 * Returns the handle, or NULL with the loader's reason in why.
 */
void *shmemi_ofi_open_library(const char *file, int present, char *why, size_t len);

/* Looks up libfabric's entry points in an open library. Returns the name of a missing one, or
 * NULL. */
const char *shmemi_ofi_bind(void *library);

/* Returns the file that the library was loaded from. */
const char *shmemi_ofi_library_file(void *library);

void shmemi_ofi_close_library(void *library);

/*
 * Calls fi_getinfo, and restores the signal handlers that libraries of libfabric replace. The first
 * call in the process also obeys shmemi_ofi_leave_gpus and shmemi_ofi_skip_symbols.
 */
int shmemi_ofi_getinfo(uint32_t version, struct fi_info *hints, struct fi_info **list);

/*
 * Sets whether libfabric does not use GPUs. Only its first call reads that, for the whole process.
 */
void shmemi_ofi_leave_gpus(int yes);

/*
 * Sets whether the first call of libfabric skips the kernel's symbol table. Set only if no NIC of
 * the machine could use its contents.
 */
void shmemi_ofi_skip_symbols(int yes);

/* Returns the function that libfabric calls as fopen, or 0 if its import is not found. */
uintptr_t shmemi_ofi_open_import(void);

/* Lists all providers of the library. Only their names are valid. */
int shmemi_ofi_known(uint32_t version, struct fi_info **list);

/* Lists all endpoints that one provider offers, whatever their features. */
int shmemi_ofi_anything(uint32_t version, const char *provider, struct fi_info **list);

#endif
