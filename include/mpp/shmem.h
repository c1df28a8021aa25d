/*
 * mpp/shmem.h: shmem.h by the name that it had in a folder of its own. The
 * specification calls the folder deprecated.
 */
#ifndef SHMEM_MPP_SHMEM_H
#define SHMEM_MPP_SHMEM_H

#include <shmem.h>

#endif
