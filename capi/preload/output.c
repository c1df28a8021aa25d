/*
 * output.c: the files of a trace, in Chrome's trace event format: an array with an event a line.
 *
 * The head is the first line and has a fixed length, because some of it is known only later: how
 * many events were lost, and how the clocks differ. Each flush overwrites it, so that the file of a
 * program that was killed has the latest head.
 */
#define _GNU_SOURCE
#include "output.h"

#include "head.h"
#include "json.h"
#include "teams.h"
#include "ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (1 << 20)
#define EVENT 1024 /* bytes of an event at most; longest name 60 */

static struct preload_about about;
static char path[PATH_MAX - 64]; /* DIR/PE, without ".json" */
static int fd = -1;              /* of the file that is being written; -1: none */
static dev_t device;             /* which file that is */
static ino_t inode;
static bool broken;       /* an error has happened; nothing is written any more */
static uint64_t max_part; /* bytes of a part */
static uint64_t written;  /* bytes of this part */
static uint64_t events[PRELOAD_PARTS],
    discarded;               /* events in each part (0 is being written), and in deleted ones */
static char buffer[BUFFER];  /* events that are not in the file yet */
static size_t filled;        /* bytes of them */
static bool ended;           /* the file's JSON array is closed */
static unsigned file_number; /* of the file, counted from 1 */
static uint64_t lost_so_far; /* calls without an event, for the head */

/* Reports whether no write of the files has failed. */
bool preload_output_works(void)
{
    return !broken;
}

/* Returns the number of events in files that were deleted to keep the trace within its size. */
uint64_t preload_output_discarded(void)
{
    return discarded;
}

/* Writes the path of the n-th newest file of the trace to name, and returns it. 0 is the file that
 * is being written; older files have n in their names. */
static const char *part_name(char *name, int n)
{
    if (n == 0)
        snprintf(name, PATH_MAX, "%s.json", path);
    else
        snprintf(name, PATH_MAX, "%s.%d.json", path, n);
    return name;
}

/* Reports whether fd is the trace's file. A program may close descriptors that it has not opened,
 * and another file may then have the number. */
static bool is_our_file(void)
{
    struct stat s;
    return fstat(fd, &s) == 0 && s.st_dev == device && s.st_ino == inode;
}

/* Ends the trace because of an error (what cannot be done, and why): prints it with a remedy, and
 * writes it into the head of the file. */
static void give_up(const char *what, const char *why, const char *remedy)
{
    char name[PATH_MAX];
    broken = true;
    preload_say("PE %d: %s %s: %s; the trace ends here, and the program goes on (%s)", about.pe,
                what, part_name(name, 0), why, remedy);
    if (fd >= 0 && is_our_file()) {
        /* The head overwrites the old one, which works on a full disk, too. It tells readers of the
         * file that the trace is incomplete. */
        static char line[PRELOAD_HEAD];
        char text[120];
        snprintf(text, sizeof text, "all calls after the file could not be written: %s", why);
        preload_head_bypassing(text);
        preload_head(line, &about, lost_so_far + discarded, discarded);
        if (pwrite(fd, line, sizeof line, 2) < 0) /* after "[\n" */
            line[0] = '\0';                       /* the message above must suffice */
    }
    if (fd >= 0)
        close(fd);
    fd = -1;
}

/* Writes text to the file: at the offset `at` if overwrite is true, else at the end of the file.
 * After an error the trace ends. */
static void write_file(const char *text, size_t length, off_t at, bool overwrite)
{
    if (broken)
        return;
    if (!is_our_file()) {
        fd = -1;
        give_up("write", "the program has closed the file",
                "keep descriptors that the program has not opened");
        return;
    }
    while (length > 0) {
        ssize_t n = overwrite ? pwrite(fd, text, length, at) : write(fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            give_up("write", n < 0 ? strerror(errno) : "nothing could be written",
                    "make room, or trace fewer calls with calls=PATTERN");
            return;
        }
        text += n;
        at += n;
        length -= (size_t)n;
    }
}

/* Writes the buffer to the file. */
static void write_buffer(void)
{
    write_file(buffer, filled, /* at */ 0, /* overwrite */ false);
    written += filled;
    filled = 0;
}

/* Overwrites the head of the file, which follows "[\n". */
static void write_head(void)
{
    static char line[PRELOAD_HEAD];
    preload_head(line, &about, lost_so_far + discarded, discarded);
    write_file(line, sizeof line, /* at */ 2, /* overwrite */ true);
}

/* Returns where the next event may be written in the buffer, after a comma. */
static char *open_event(void)
{
    if (filled > BUFFER - EVENT)
        write_buffer();
    if (ended) {
        /* The array was closed: overwrites its last bracket, "\n]\n". */
        if (!broken && is_our_file())
            lseek(fd, -3, SEEK_END);
        written -= 3;
        ended = false;
    }
    return JSON_LITERAL(buffer + filled, ",\n");
}

/* Ends an event in the buffer, whose text ends at `at`. */
static void close_event(char *at)
{
    filled = (size_t)(at - buffer);
}

/* Adds the metadata event with the name that viewers show for this PE. */
static void name_process(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    char text[512];
    char *at = JSON_LITERAL(text, "\"name\":");
    char name[320];
    snprintf(name, sizeof name, "PE %d on %s", about.pe, host);
    at = json_string(at, text + sizeof text, name);
    *at = '\0';
    preload_output_about("process_name", text);
}

/* Creates part 0 of the trace. Returns false after an error, which has been reported. */
static bool create_part(void)
{
    char name[PATH_MAX];
    int made = open(part_name(name, 0), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (made < 0) {
        give_up("create", strerror(errno),
                "name a directory that can be written: SHMEM_PRELOAD=trace,file=DIR");
        return false;
    }
    if (flock(made, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(made);
        give_up("create", "another process that lives writes it",
                "give each job a directory: SHMEM_PRELOAD=trace,file=DIR");
        return false;
    }
    /* A high number, so that the descriptor is not in the way of programs that count their
     * descriptors, and does not get the number of a standard stream that the program has closed. */
    fd = fcntl(made, F_DUPFD_CLOEXEC, 500);
    if (fd < 0)
        fd = fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd < 0)
        fd = made;
    else
        close(made);
    struct stat s;
    if (ftruncate(fd, 0) != 0 || fstat(fd, &s) != 0) {
        give_up("create", strerror(errno), "name another directory: SHMEM_PRELOAD=trace,file=DIR");
        return false;
    }
    device = s.st_dev;
    inode = s.st_ino;
    written = 0;
    filled = 0;
    ended = false;
    char *at = JSON_LITERAL(buffer, "[\n");
    memset(at, ' ', PRELOAD_HEAD);
    filled = (size_t)(at - buffer) + PRELOAD_HEAD;
    file_number++;
    write_buffer();
    write_head();
    name_process();
    preload_teams_reset();
    preload_teams_describe();
    return !broken;
}

/* Creates the directories and part 0 of the trace, and removes the parts of an earlier job. Returns
 * false after an error, which has been reported. */
bool preload_output_open(const char *dir, uint64_t bytes, const struct preload_about *what)
{
    about = *what;
    max_part = bytes / PRELOAD_PARTS;
    if ((size_t)snprintf(path, sizeof path, "%s/%d", dir, about.pe) >= sizeof path) {
        give_up("create", "its name is too long",
                "name a shorter directory: SHMEM_PRELOAD=trace,file=DIR");
        return false;
    }
    /* Creates the missing directories of the path. */
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0755); /* the open below reports errors */
        *slash = '/';
    }
    /* Removes the parts of an earlier job, which would be read as parts of this one. */
    char name[PATH_MAX];
    for (int i = 1; i < PRELOAD_PARTS; i++)
        unlink(part_name(name, i));
    return create_part();
}

/* Ends part 0, renames the parts so that each is one older, which deletes the oldest, and creates a
 * new part 0. */
static void rotate_parts(void)
{
    char from[PATH_MAX], to[PATH_MAX];
    preload_output_end(lost_so_far);
    if (broken)
        return;
    close(fd);
    fd = -1;
    discarded += events[PRELOAD_PARTS - 1];
    for (int i = PRELOAD_PARTS - 1; i > 0; i--) {
        rename(part_name(from, i - 1), part_name(to, i));
        events[i] = events[i - 1];
    }
    events[0] = 0;
    create_part();
}

/* Writes the begin of an event to `at`, and returns the end of what it has written. phase is the
 * event's kind in the format of traces: X for a call, M for metadata. length is that of name. */
static char *begin_of(char *at, const char *phase, const char *name, size_t length, int tid)
{
    at = JSON_LITERAL(at, "{\"ph\":\"");
    *at++ = *phase;
    at = JSON_LITERAL(at, "\",\"name\":\"");
    at = json_text(at, name, length);
    at = JSON_LITERAL(at, "\",\"pid\":");
    at = json_number(at, (uint64_t)about.pe);
    at = JSON_LITERAL(at, ",\"tid\":");
    return json_number(at, (uint64_t)tid);
}

/* Writes a metadata event with a name and arguments, the text of JSON members, to the buffer of the
 * file. An event that does not fit into the buffer is left out: the other fields need less than 512
 * bytes. */
void preload_output_about(const char *name, const char *arguments)
{
    if (broken)
        return;
    size_t length = strlen(arguments);
    if (length + 512 > BUFFER)
        return;
    if (filled + length + 512 > BUFFER)
        write_buffer();
    char *at = begin_of(open_event(), "M", name, strlen(name), /* tid */ 0);
    at = JSON_LITERAL(at, ",\"args\":{");
    at = json_text(at, arguments, length);
    close_event(JSON_LITERAL(at, "}}"));
}

/* Adds the metadata event with the name that viewers show for the ring's thread. */
static void name_thread(struct preload_ring *ring)
{
    char comm[64] = "", file[64];
    snprintf(file, sizeof file, "/proc/self/task/%d/comm", ring->tid);
    int from = open(file, O_RDONLY | O_CLOEXEC);
    if (from >= 0) {
        ssize_t n = read(from, comm, sizeof comm - 1);
        if (n > 0)
            comm[strcspn(comm, "\n")] = '\0';
        close(from);
    }
    char name[128];
    snprintf(name, sizeof name, "calls of thread %d%s%s", ring->tid, *comm ? ", " : "", comm);
    char *at = begin_of(open_event(), "M", "thread_name", sizeof "thread_name" - 1, ring->tid);
    at = JSON_LITERAL(at, ",\"args\":{\"name\":");
    at = json_string(at, at + EVENT / 2, name);
    close_event(JSON_LITERAL(at, "}}"));
    ring->named = ring->tid;
    ring->named_in = file_number;
}

/* Writes the event of a call to the buffer of the trace file. Before that it begins a new part if
 * the present one has reached its size, and names the thread in a part that has no event of it. PE,
 * bytes and team that the record does not have are left out. */
void preload_output_call(struct preload_ring *ring, const struct preload_record *record)
{
    if (broken)
        return;
    if (written + filled > max_part)
        rotate_parts();
    if (ring->named != ring->tid || ring->named_in != file_number)
        name_thread(ring);
    const char *name = preload_name(record->number);
    uint64_t begin = preload_ticks_ns(record->begin), end = preload_ticks_ns(record->end);
    char *at = begin_of(open_event(), "X", name, strlen(name), ring->tid);
    at = JSON_LITERAL(at, ",\"cat\":\"shmem\",\"ts\":");
    at = json_micros(at, begin);
    at = JSON_LITERAL(at, ",\"dur\":");
    at = json_micros(at, end > begin ? end - begin : 0);
    at = JSON_LITERAL(at, ",\"args\":{");
    char *empty_at = at;
    if (record->has & PRELOAD_HAS_PE) {
        at = JSON_LITERAL(at, "\"pe\":");
        at = json_signed(at, record->pe);
        *at++ = ',';
    }
    if (record->has & PRELOAD_HAS_BYTES) {
        at = JSON_LITERAL(at, "\"bytes\":");
        at = json_number(at, record->bytes);
        *at++ = ',';
    }
    if (record->has & PRELOAD_HAS_TEAM) {
        at = JSON_LITERAL(at, "\"team\":");
        at = json_number(at, record->team);
        *at++ = ',';
    }
    if (record->stolen >= 1000) { /* less than that is within the error of the two clocks */
        at = JSON_LITERAL(at, "\"stolen\":");
        at = json_micros(at, record->stolen);
        *at++ = ',';
    }
    if (at > empty_at)
        at--;
    close_event(JSON_LITERAL(at, "}}"));
    events[0]++;
}

/* Writes the events in the buffer, and the head of the file with the number of events lost so far.
 */
void preload_output_flush(uint64_t lost)
{
    lost_so_far = lost;
    if (filled > 0 && !broken)
        write_buffer();
    if (!broken)
        write_head();
}

/* Writes the events in the buffer to the file, and closes the file's JSON array. */
void preload_output_end(uint64_t lost)
{
    if (broken || ended)
        return;
    lost_so_far = lost;
    if (filled > BUFFER - EVENT)
        write_buffer();
    filled = (size_t)(JSON_LITERAL(buffer + filled, "\n]\n") - buffer);
    preload_output_flush(lost);
    ended = true;
}
