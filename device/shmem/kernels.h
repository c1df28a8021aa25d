/*
 * kernels.h: the templates that implement the calls of kernels, without the public names. Headers
 * of another set of names, such as NVSHMEM's, include it, so that a program can include another
 * library's shmem.h beside them.
 */
#ifndef SHMEM_KERNELS_H
#define SHMEM_KERNELS_H

#include "types.h"

#include "atomic.h"
#include "launch.h"
#include "names.h"
#include "order.h"
#include "rma.h"
#include "scatter.h"
#include "setup.h"
#include "signal.h"
#include "strided.h"
#include "wait.h"

#endif
