/*
 * job.cc: one job by several commands. The first server writes the unique ID into a file, and the
 * others wait for it. Each process has its number from the launcher: those of the command that
 * serves are PEs 0 and up, those of the clients follow.
 */
#include "job.h"

#include "protocol.h"

#include <shmemx.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace pagedfill
{

static const char usage[] =
    "usage: shmemrun -n N pagedfill serve|client --id FILE [options]\n"
    "\n"
    "  --id FILE          where the first server leaves the unique ID of the job; a new name\n"
    "  --servers N        servers of the job (1)\n"
    "  --clients N        clients of the job (1)\n"
    "  --first N          number of this command's first client, where several start them (0)\n"
    "  --page-bytes N     bytes of a page, a multiple of 8 (65536)\n"
    "  --pages N          pages that a client asks for in a round (1000)\n"
    "  --buffers N        buffers of each PE; the pages are dealt to them (2)\n"
    "  --own-memory       buffers are memory of the program that is registered\n"
    "  --last-word        the last page brings a word that says that all are there, in place of\n"
    "                     notifications; refused where the network keeps no order\n"
    "  --rounds N         rounds of each client (3)\n"
    "  --measure N        compare N times with the same writes without requests (0)\n"
    "  --progress         a bar of the first client; shmemrun hides the terminal from PEs\n"
    "  --seed N           (1)\n"
    "\n"
    "All commands have the same options, and SHMEM_ON_FAILURE=return.\n";

[[noreturn]] static void wrong(const char *what, const char *value, const char *cause)
{
    fprintf(stderr, "pagedfill: parse %s %s: %s (--help shows the usage)\n", what, value, cause);
    exit(2);
}

static uint64_t number(const char *what, const char *value, uint64_t least, uint64_t most)
{
    char *end;
    errno = 0;
    uint64_t n = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno != 0 || n < least || n > most) {
        char range[80];
        snprintf(range, sizeof range, "not a number from %llu to %llu", (unsigned long long)least,
                 (unsigned long long)most);
        wrong(what, value, range);
    }
    return n;
}

options parse(int argc, char **argv)
{
    options o;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        exit(0);
    }
    std::string role = argc > 1 ? argv[1] : "";
    if (role != "serve" && role != "client")
        wrong("role", role.c_str(), "neither serve nor client");
    o.serve = role == "serve";
    for (int i = 2; i < argc; i++) {
        std::string name = argv[i];
        bool *const flag = name == "--own-memory"  ? &o.own_memory
                           : name == "--progress"  ? &o.progress
                           : name == "--last-word" ? &o.last_word
                                                   : nullptr;
        if (flag != nullptr) {
            *flag = true;
            continue;
        }
        const char *value = i + 1 < argc ? argv[++i] : "";
        if (name == "--id")
            o.id = value;
        else if (name == "--servers")
            o.servers = (int)number("--servers", value, 1, 1000);
        else if (name == "--clients")
            o.clients = (int)number("--clients", value, 1, 1000);
        else if (name == "--first")
            o.first = (int)number("--first", value, 0, 999);
        else if (name == "--page-bytes")
            o.page_bytes = number("--page-bytes", value, 8, MAX_PAGE_BYTES);
        else if (name == "--pages")
            o.pages = number("--pages", value, 1, 1 << 20);
        else if (name == "--buffers")
            o.buffers = number("--buffers", value, 1, 1000);
        else if (name == "--rounds")
            o.rounds = (int)number("--rounds", value, 1, 1000);
        else if (name == "--measure")
            o.measure = (int)number("--measure", value, 0, 1000);
        else if (name == "--seed")
            o.seed = number("--seed", value, 0, UINT64_MAX);
        else
            wrong("option", name.c_str(), "unknown");
    }
    if (o.id.empty())
        wrong("--id", "", "no file for the unique ID");
    if (o.page_bytes % 8 != 0)
        wrong("--page-bytes", std::to_string(o.page_bytes).c_str(), "not a multiple of 8");
    return o;
}

void say(int me, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "pagedfill: PE %d: %s\n", me, text);
}

double seconds()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

[[noreturn]] static void fail(int me, const char *what, const std::string &object,
                              const char *cause, const char *remedy)
{
    say(me, "%s %s: %s (%s)", what, object.c_str(), cause, remedy);
    exit(1);
}

/* Writes the unique ID to the file, which only this user may read: with the ID any process could
 * join the job. link makes the file appear with its whole content, and never replaces a file of
 * another job. */
static void publish(int me, const std::string &file, const shmemx_uniqueid_t &id)
{
    std::string part = file + ".part";
    unlink(part.c_str());
    int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, &id, sizeof id) == (ssize_t)sizeof id;
    if (fd >= 0)
        written = close(fd) == 0 && written;
    if (!written || link(part.c_str(), file.c_str()) != 0) {
        int error = errno;
        unlink(part.c_str());
        fail(me, "write the unique ID to", file, strerror(error),
             "give the name of a new file in a folder that you can write to");
    }
    unlink(part.c_str());
}

/* Waits up to 60 s for the file, and reads the unique ID from it. */
static void await(int me, const std::string &file, shmemx_uniqueid_t *id)
{
    const double timeout = 60; /* seconds; it looks again every 10 ms */
    for (double begun = seconds(); seconds() - begun < timeout; usleep(10000)) {
        int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        ssize_t n = read(fd, id, sizeof *id);
        close(fd);
        if (n != (ssize_t)sizeof *id)
            fail(me, "read the unique ID from", file, "it is not one", "give the servers' file");
        return;
    }
    fail(me, "wait for the unique ID in", file, "no server has written it within 60 s",
         "start the servers, with the same file");
}

/* The number in a variable that the launcher sets, or -1. */
static int from_launcher(const char *name)
{
    const char *value = getenv(name);
    return value != nullptr ? atoi(value) : -1;
}

job::job(const options &o) : opt(o)
{
    const int all = o.servers + o.clients;
    const int place = from_launcher("SHMEM_LAUNCHER_PE"), n = from_launcher("SHMEM_LAUNCHER_NPES");
    me = o.serve ? place : o.servers + o.first + place;
    const char *failure = getenv("SHMEM_ON_FAILURE");
    if (place < 0 || n < 0)
        fail(me, "start", "the PE", "no launcher gave it a number", "start it by shmemrun");
    if (failure == nullptr || strcmp(failure, "return") != 0)
        fail(me, "start", "the PE", "a server would end with its first lost client",
             "set SHMEM_ON_FAILURE=return for all commands");
    if (o.serve ? n != o.servers : o.first + n > o.clients)
        fail(me, "start", std::to_string(n) + " PEs",
             o.serve ? "--servers has another number" : "--clients has fewer",
             "let shmemrun -n and the options agree");

    shmemx_uniqueid_t id = SHMEMX_UNIQUEID_INITIALIZER;
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    if (me == 0) {
        if (shmemx_get_uniqueid(&id) != 0)
            exit(1); /* the library has said why */
        publish(me, o.id, id);
    } else {
        await(me, o.id, &id);
    }
    shmemx_set_attr_uniqueid_args(me, all, &id, &attr);
    int failed = shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr);
    if (me == 0)
        unlink(o.id.c_str()); /* all have read it, or never will */
    if (failed)
        exit(1);

    const size_t each = (o.pages + o.buffers - 1) / o.buffers;
    const size_t whole = (size_t)sysconf(_SC_PAGESIZE);
    buffer_bytes = (each * o.page_bytes + whole - 1) / whole * whole;
    for (size_t i = 0; i < o.buffers; i++) {
        void *b;
        if (o.own_memory) {
            b = mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                     0);
            b = b == MAP_FAILED ? nullptr : shmemx_buffer_register_symmetric(b, buffer_bytes, 0);
        } else {
            b = shmem_malloc(buffer_bytes);
        }
        if (b == nullptr)
            fail(me, "allocate", "buffer " + std::to_string(i), "the symmetric heap has no room",
                 "set SHMEM_SYMMETRIC_SIZE to a larger size for all commands");
        buffers.push_back((unsigned char *)b);
    }
    words = static_cast<uint64_t *>(shmem_calloc((size_t)o.servers, sizeof *words));
    if (words == nullptr)
        fail(me, "allocate", std::to_string(o.servers) + " words", "the symmetric heap has no room",
             "set SHMEM_SYMMETRIC_SIZE to a larger size for all commands");
    notify = shmemx_notify_alloc(o.servers);
    if (notify < 0)
        fail(me, "allocate", std::to_string(o.servers) + " notification counters",
             "so many are not free", "set SHMEM_NOTIFY_COUNT to a larger number");
    shmem_team_split_strided(SHMEM_TEAM_WORLD, o.servers, 1, o.clients, nullptr, 0, &clients);
}

void job::leave()
{
    fflush(stdout);
    shmem_finalize();
}

} // namespace pagedfill
