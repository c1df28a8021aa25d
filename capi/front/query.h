/* query.h: implements the public functions that query the job: shmem_my_pe, shmem_ptr and others.
 * Each function has the name of the one that it implements; query.c says which. */
#ifndef SHMEMI_QUERY_H
#define SHMEMI_QUERY_H

#include "base.h"

#pragma GCC visibility push(hidden)

int shmemi_my_pe(const char *call);
int shmemi_n_pes(const char *call);
void shmemi_query_thread(int *provided, const char *call);
void shmemi_query_initialized(int *initialized, const char *call);
int shmemi_pe_accessible(int pe, const char *call);
int shmemi_put_ordered(int pe, const char *call);
int shmemi_addr_accessible(const void *addr, int pe, const char *call);
void *shmemi_ptr(const void *dest, int pe, const char *call);
void shmemi_info_get_version(int *major, int *minor, const char *call);
void shmemi_info_get_name(char *name, const char *call);
void shmemi_pcontrol(int level, const char *call);

#pragma GCC visibility pop

#endif
