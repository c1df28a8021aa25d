/*
 * nvshmem.h: for programs that were written for NVSHMEM. Its host functions are those of
 * libnvshmem_host.so.
 */
#ifndef NVSHMEM_NVSHMEM_H
#define NVSHMEM_NVSHMEM_H

#include "nvshmem_host.h"

#endif
