/*
 * job.h: the arguments, the start of one job by several commands, and the symmetric memory.
 */
#ifndef PAGEDFILL_JOB_H
#define PAGEDFILL_JOB_H

#include <shmem.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pagedfill
{

struct options {
    bool serve = false;
    bool progress = false;   /* a bar, also if stderr is not a terminal */
    bool last_word = false;  /* the last page brings a word that says that all pages are there */
    bool own_memory = false; /* register memory of the program, in place of shmem_malloc */
    int servers = 1, clients = 1;
    int first = 0; /* number of this command's first client, if several commands start clients */
    size_t page_bytes = 65536, pages = 1000, buffers = 2;
    int rounds = 3, measure = 0; /* rounds, and how often to measure them (--measure) */
    uint64_t seed = 1;
    std::string id;
};

/* Reads the command line, or ends the process with status 2. */
options parse(int argc, char **argv);

/* A job with opt.buffers buffers of equal size on each PE, and a notification counter for each
 * server. */
class job
{
  public:
    /* Joins the job by the unique ID in the file that opt.id names, and allocates the memory. All
     * PEs do so together. A failure ends the process with a message. */
    explicit job(const options &o);
    /* Waits for the other PEs that are alive, and leaves. */
    void leave();

    const options opt;
    int me = 0;
    std::vector<unsigned char *> buffers; /* symmetric */
    size_t buffer_bytes = 0;
    uint64_t *words = nullptr;                 /* symmetric, by server: the word of last_word */
    int notify = 0;                            /* the first of opt.servers counters */
    shmem_team_t clients = SHMEM_TEAM_INVALID; /* of all clients; not valid on servers */

    bool is_client(int pe) const
    {
        return pe >= opt.servers;
    }
};

/* Prints `pagedfill: PE n: ...` as one line on stderr. */
void say(int me, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Seconds of a monotonic clock. */
double seconds();

} // namespace pagedfill

#endif
