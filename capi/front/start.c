/*
 * start.c: checks the arguments of the calls by which a program joins a job that it forms itself.
 */
#include "start.h"

#include "lifecycle.h"
#include "spell.h"

#include <stdarg.h>
#include <stdio.h>

_Static_assert(sizeof(shmemx_uniqueid_t) == 128, "as NVSHMEM's");
_Static_assert(sizeof(shmemx_uniqueid_args_t) == 24, "as NVSHMEM's");
_Static_assert(sizeof(shmemx_init_args_t) == 128, "as NVSHMEM's");
_Static_assert(sizeof(shmemx_init_attr_t) == 144, "as NVSHMEM's");

/* Prints what is wrong with an argument of a call, by the names that the program uses. Returns -1.
 */
__attribute__((format(printf, 2, 3))) static int refuse(const char *call, const char *what, ...)
{
    char line[512];
    va_list args;
    int n = snprintf(line, sizeof line, "shmem: %s: ", call);
    va_start(args, what);
    vsnprintf(line + n, sizeof line - (size_t)n, what, args);
    va_end(args);
    shmemi_use_program_names(line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return -1;
}

/* Implements shmemx_get_uniqueid: makes the ID of a job, at one of its PEs, and stores it. Returns
 * 0, or -1 after it has printed an error. */
int shmemi_get_uniqueid(shmemx_uniqueid_t *uid, const char *call)
{
    if (uid == NULL)
        return refuse(call, "uid is NULL (pass the address of a shmemx_uniqueid_t)");
    return shmemi_make_uniqueid(uid, call);
}

/* Returns 0 if pe can be the number of one of n_pes PEs, else -1 after it has printed an error. */
static int check_number(int pe, int n_pes, const char *call)
{
    if (n_pes >= 1 && pe >= 0 && pe < n_pes)
        return 0;
    return refuse(call,
                  "PE %d of %d (PEs are numbered from 0, so that myrank is from 0 to nranks - 1)",
                  pe, n_pes);
}

/* Implements shmemx_set_attr_uniqueid_args: checks the arguments, and stores them in attr. Returns
 * 0, or -1 after it has printed an error. */
int shmemi_set_attr_uniqueid_args(int myrank, int nranks, const shmemx_uniqueid_t *uid,
                                  shmemx_init_attr_t *attr, const char *call)
{
    if (uid == NULL || attr == NULL)
        return refuse(call, "%s is NULL (pass the address of one)", uid == NULL ? "uid" : "attr");
    if (check_number(myrank, nranks, call) != 0)
        return -1;
    attr->args.uid_args = (shmemx_uniqueid_args_t)SHMEMX_UNIQUEID_ARGS_INITIALIZER;
    attr->args.uid_args.id = (shmemx_uniqueid_t *)uid;
    attr->args.uid_args.myrank = myrank;
    attr->args.uid_args.nranks = nranks;
    return 0;
}

/* Implements shmemx_init_attr: joins the job that flags and attr describe; with flags 0, the
 * launcher's. Returns 0, or non-zero after it has printed an error. */
int shmemi_init_attr(unsigned int flags, const shmemx_init_attr_t *attr, const char *call)
{
    if (flags == 0)
        return shmemi_init_chosen_job(/* job */ NULL, call);
    if (flags != SHMEMX_INIT_WITH_UNIQUEID && flags != SHMEMX_INIT_WITH_MPI_COMM)
        return refuse(call,
                      "flags %#x (use SHMEMX_INIT_WITH_UNIQUEID, SHMEMX_INIT_WITH_MPI_COMM, or 0)",
                      flags);
    const shmemx_init_attr_t plain = SHMEMX_INIT_ATTR_INITIALIZER;
    if (attr == NULL || attr->version != plain.version)
        return refuse(call,
                      "attr %s (begin with shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER)",
                      attr == NULL ? "is NULL" : "has another version than this library");
    if (flags == SHMEMX_INIT_WITH_MPI_COMM) {
        if (attr->mpi_comm == NULL)
            return refuse(call, "attr holds no communicator (set mpi_comm to the address of one)");
        return shmemi_init_chosen_job(&(struct shmemi_chosen_job){.mpi_comm = attr->mpi_comm},
                                      call);
    }
    const shmemx_uniqueid_args_t *u = &attr->args.uid_args;
    if (u->version != plain.args.uid_args.version || u->id == NULL)
        return refuse(call, "attr holds no unique id (call shmemx_set_attr_uniqueid_args)");
    if (check_number(u->myrank, u->nranks, call) != 0)
        return -1;
    return shmemi_init_chosen_job(
        &(struct shmemi_chosen_job){.uid = u->id, .pe = u->myrank, .n_pes = u->nranks}, call);
}
