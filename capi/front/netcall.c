/*
 * netcall.c: which call of this thread uses the network at the moment.
 */
#define _GNU_SOURCE
#include "netcall.h"

#include "error.h"

_Thread_local const char *shmemi_netcall;

/* Ends the process, because a signal handler calls the library within the call that it has
 * interrupted. */
void shmemi_netcall_refuse(const char *call)
{
    shmemi_abort_in_handler(call, "let the handler set a flag, and call the library afterwards",
                            "it is called by a signal handler that has interrupted %s",
                            shmemi_netcall);
}
