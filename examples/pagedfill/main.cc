/*
 * pagedfill: servers write pages into the memory of clients that ask for them, in one job that
 * several commands start.
 *
 *   export SHMEM_ON_FAILURE=return
 *   shmemrun -n 1 pagedfill serve --id /tmp/job17 --clients 4 &
 *   shmemrun -n 4 pagedfill client --id /tmp/job17 --clients 4
 *
 * protocol.h has the messages, server.cc and client.cc the two sides. README.md explains it.
 */
#include "client.h"
#include "job.h"
#include "server.h"

int main(int argc, char **argv)
{
    pagedfill::job j(pagedfill::parse(argc, argv));
    int status = 0;
    if (j.opt.serve)
        pagedfill::serve(j);
    else
        status = pagedfill::ask(j);
    j.leave();
    return status;
}
