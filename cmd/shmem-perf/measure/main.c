/*
 * main: reads the settings, gives each figure to timing, and connects PE 0 with its reader.
 *
 *   perf [KEY=VALUE...] [-- READER...]
 *
 * tests=TEST:MEASURE,...   the figures; all without it
 * scopes=SCOPE,...         of these figures; all without it
 * sizes=BYTES,...          of figures that have a size
 * budget=MS batches=N iterations=N warmup=N window=N
 * facts=TEXT               of the host of this PE, for the reader
 * info=FILE                shmem-info, which names the NICs that carried bytes
 * beside=NAME:SERVER:CLIENT another program, between two hosts: commands of the last PE and of PE 0
 * spoil=TEST:MEASURE       for tests: damage the data of this figure, or of all, before the check
 *
 * PE 0 prints lines of fields between tabs, or writes them to READER, a command that it starts;
 * its exit status is then that of the PE.
 */
#define _GNU_SOURCE
#include "perf.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* FACTS is the bytes of the text of facts, and MAX_HEAP those of src and of dst (allocate). */
enum { MAX_SIZES = 64, MAX_OTHERS = 8, MAX_NICS = 64, FACTS = 16 << 10, MAX_HEAP = 256 << 20 };

struct settings settings = {.budget_ns = 100e6, .batches = 11, .warmup = 16, .window = 64};
int me, npes, peer, partner, toward;
char *src, *dst;
size_t room;

static const char *tests = "", *scopes = "", *facts = "", *info = "";
static size_t sizes[MAX_SIZES];
static int size_count;
static char **reader; /* its arguments, or NULL */
static pid_t reader_pid;
static char *facts_here;               /* symmetric: facts of this host */
static char *bytes;                    /* `room` bytes, for patterns */
static const char *others[MAX_OTHERS]; /* programs to compare with */
static int other_count;
static char nics[MAX_NICS][64];
static int nic_count;
static bool node; /* PE 0 and the last PE share memory */

/* Ends the program with status 2, because its command line has a mistake. text says what failed,
 * and object is the word that is wrong. */
static void usage_error(const char *text, const char *object)
{
    fprintf(stderr, "shmem-perf: %s %s (see shmem-perf --help)\n", text, object);
    exit(2);
}

/* Reads the list of sizes, in bytes. */
static void read_sizes(const char *text)
{
    char *end;
    for (size_count = 0; *text && size_count < MAX_SIZES; text = *end == ',' ? end + 1 : end) {
        sizes[size_count] = strtoul(text, &end, 10);
        if (end == text || sizes[size_count++] == 0)
            usage_error("read sizes:", text);
    }
}

/* Stores the setting of one KEY=VALUE of the command line. An unknown key ends the program. */
static void read_argument(const char *arg)
{
    const char *equals = strchr(arg, '='), *value = equals ? equals + 1 : "";
    size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
#define IS(key) (n == strlen(key) && !strncmp(arg, key, n))
    if (IS("tests"))
        tests = value;
    else if (IS("scopes"))
        scopes = value;
    else if (IS("sizes"))
        read_sizes(value);
    else if (IS("budget"))
        settings.budget_ns = atof(value) * 1e6;
    else if (IS("batches"))
        settings.batches = atoi(value);
    else if (IS("iterations"))
        settings.iterations = atol(value);
    else if (IS("warmup"))
        settings.warmup = atol(value);
    else if (IS("window"))
        settings.window = atol(value);
    else if (IS("facts"))
        facts = value;
    else if (IS("info"))
        info = value;
    else if (IS("beside") && other_count < MAX_OTHERS)
        others[other_count++] = value;
    else if (IS("spoil"))
        settings.spoil = value;
    else
        usage_error("read the arguments: there is no", arg);
}

/* Returns byte i of the pattern with which a PE fills its memory. The pattern differs from PE to PE
 * and from byte to byte, so that data in a wrong place are found. No byte of it is 0, the value of
 * memory that nobody has written. */
static char pattern_byte(size_t i, int pe)
{
    return (char)(1 + (i * 7 + (size_t)pe * 31) % 251);
}

/* Fills symmetric memory with the pattern of a PE. The pattern is made in ordinary memory and then
 * copied, because symmetric memory may be memory of a GPU. */
void fill(char *at, size_t size, int pe)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = pattern_byte(i, pe);
    store(at, bytes, size);
}

/* Reports whether memory has the pattern of a PE. */
bool filled(const char *at, size_t size, int pe)
{
    load(bytes, at, size);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != pattern_byte(i, pe))
            return false;
    return true;
}

/* Allocates zeroed symmetric memory, at a page of its own. Without memory it ends the job with a
 * message. */
void *symmetric(size_t size)
{
    void *p = shmem_align(4096, size);
    if (p == NULL) {
        fprintf(stderr,
                "shmem-perf: the symmetric heap has no %zu bytes (raise SHMEM_SYMMETRIC_SIZE, "
                "or measure smaller sizes)\n",
                size);
        shmem_global_exit(1);
    }
    clear(p, size);
    return p;
}

/* Copies from symmetric memory of another PE. */
void load_from(void *to, const void *from, size_t size, int pe)
{
    shmem_getmem(to, from, size, pe);
}

/* Starts the reader, whose standard input is then the standard output of this PE. If there is no
 * pipe for it, the lines of this PE go to standard output as they are. */
static void start_reader(void)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    fflush(stdout);
    if (pipe(ends) != 0 || posix_spawn_file_actions_init(&actions) != 0)
        return;
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    int error = posix_spawn(&reader_pid, reader[0], &actions, NULL, reader, environ);
    if (error != 0) {
        fprintf(stderr, "shmem-perf: start %s: %s (install shmem-perf again)\n", reader[0],
                strerror(error));
        shmem_global_exit(1);
    }
    posix_spawn_file_actions_destroy(&actions);
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
}

/* Closes the reader's input and waits until it has printed all. Returns its exit status, 1 if a
 * signal has killed it, and 0 if there is no reader. */
static int end_reader(void)
{
    int status = 0;
    fflush(stdout);
    if (reader_pid == 0)
        return 0;
    close(1);
    while (waitpid(reader_pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Reports whether a word is in a list with commas. An empty list means all words. */
static bool is_in_list(const char *list, const char *word)
{
    size_t n = strlen(word);
    if (*list == 0)
        return true;
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
            return true;
    return false;
}

/* Reports whether the settings `tests` and `scopes` select a figure. */
static bool is_selected(const struct figure *f)
{
    char name[64];
    snprintf(name, sizeof name, "%s:%s", f->test, f->measure);
    return is_in_list(tests, name) && (f->scope == NULL || is_in_list(scopes, f->scope));
}

/* The reasons why a figure cannot be measured; NOTHING: it can. */
enum why { NOTHING, ALONE, ODD, LARGE, SLOW, REASONS };
static const char *const reasons[REASONS] = {
    [ALONE] = "need 2 PEs",
    [ODD] = "have elements of 8 bytes, and no such size",
    [LARGE] = "need more memory than there is for them",
    [SLOW] = "take a single thread of a GPU too long",
};

/* Returns why a figure cannot be measured at a size, or NOTHING. The collectives need sizes that
 * are whole elements, and room for the data of all PEs. */
static enum why why_not(const struct figure *f, size_t size)
{
    if (f->acting != ALL)
        return npes < 2 ? ALONE : NOTHING;
    if (f->unit && size % f->unit)
        return ODD;
    if (f->most && size > f->most)
        return SLOW;
    return f->unit && size * (size_t)npes > room ? LARGE : NOTHING;
}

/* Calls visit(), unless it is NULL, for each figure and size of the run that can be measured.
 * Returns how many there are, and adds those that are skipped to the counts in `skipped`, by
 * reason. */
static long for_each_figure(void (*visit)(const struct figure *, size_t), long skipped[REASONS])
{
    long n = 0;
    for (const struct figure *const *t = perf_tables; *t; t++)
        for (const struct figure *f = *t; f->test; f++)
            for (int i = 0; is_selected(f) && i < (f->unsized ? 1 : size_count); i++) {
                size_t size = f->unsized ? f->unit : sizes[i];
                enum why why = why_not(f, size);
                if (why != NOTHING) {
                    skipped[why]++;
                    continue;
                }
                if (visit)
                    visit(f, size);
                n++;
            }
    return n;
}

static long done, all; /* figures that are measured, and how many the run has */

/* Measures a figure at a size. PE 0 then tells the reader how many figures are done. */
static void measure(const struct figure *f, size_t size)
{
    timing_measure(f, size);
    done++;
    if (me == 0) {
        printf("progress\tdone=%ld\tof=%ld\n", done, all);
        fflush(stdout);
    }
}

/*
 * Allocates src and dst, with room for the largest size, and for what a collective of that size
 * gathers, unless that is more than MAX_HEAP. Small puts are spread over 64 KiB (rma.c), and the
 * last word of dst is that of signals (signals.c), for which a page is added.
 */
static void allocate(void)
{
    size_t most = 64 << 10;
    for (int i = 0; i < size_count; i++)
        if (sizes[i] > most)
            most = sizes[i];
    room = most * (size_t)npes;
    if (room > MAX_HEAP)
        room = most > MAX_HEAP ? most : MAX_HEAP;
    room += 4096;
    src = symmetric(room);
    dst = symmetric(room);
    facts_here = symmetric(FACTS);
    bytes = malloc(room > FACTS ? room : FACTS);
    if (bytes == NULL) {
        fprintf(stderr,
                "shmem-perf: allocate %zu bytes for patterns: out of memory (measure smaller "
                "sizes)\n",
                room);
        shmem_global_exit(1);
    }
    snprintf(bytes, FACTS, "%s", facts);
    store(facts_here, bytes, FACTS);
    shmem_barrier_all();
}

/* Finds the NICs that this process uses, from the output of shmem-info --live, which reads the
 * status pages of a running PE once (--between 0). Without shmem-info there are none. */
static void find_nics(void)
{
    char command[4200], text[512];
    if (*info == 0)
        return;
    snprintf(command, sizeof command, "'%s' --live %d --between 0 2>/dev/null", info,
             (int)getpid());
    FILE *f = popen(command, "r");
    while (f && nic_count < MAX_NICS && fgets(text, sizeof text, f))
        if (!strncmp(text, "NIC ", 4)) {
            text[4 + strcspn(text + 4, ":\n")] = 0;
            snprintf(nics[nic_count++], sizeof nics[0], "%.63s", text + 4);
        }
    if (f)
        pclose(f);
}

/*
 * Prints for the reader what is known before the first figure: the library, the PEs, the facts of
 * both hosts and the NICs. Every PE calls it.
 */
static void print_head(void)
{
    char name[SHMEM_MAX_NAME_LEN + 1] = "";
    shmem_info_get_name(name);
    node = shmem_ptr(dst, peer) != NULL;
    if (me == 0 || me == npes - 1)
        find_nics();
    static char there[FACTS];
    shmem_getmem(there, facts_here, FACTS, peer);
    if (me != 0)
        return;
    printf("head\tlibrary=%s\tpes=%d\tpath=%s\tof=%ld\n", name, npes, node ? "node" : "network",
           all);
    printf("facts\tpe=0\ttext=%s\nfacts\tpe=%d\ttext=%s\n", facts, peer, there);
    for (int i = 0; i < nic_count; i++)
        printf("nic\tname=%s\n", nics[i]);
    fflush(stdout);
}

/* Reads the settings, allocates the memory, measures all figures, and waits for the reader: the
 * command after "--", which reads the lines that PE 0 prints. */
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--")) {
            reader = argv + i + 1;
            break;
        }
        read_argument(argv[i]);
    }
    if (size_count == 0)
        read_sizes("8");
    perf_start();
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    peer = me == 0 ? npes - 1 : 0;
    /* With an odd number of PEs the one in the middle has no partner, and makes no call. */
    partner = me < npes / 2 ? me + npes - npes / 2 : me - (npes - npes / 2);
    if (me == 0 && reader && *reader)
        start_reader();
    allocate();
    timing_open();
    perf_open();
    beside_open();
    long skipped[REASONS] = {0};
    all = for_each_figure(NULL, skipped);
    for (int i = ALONE; me == 0 && i < REASONS; i++)
        if (skipped[i] > 0)
            printf("left\tn=%ld\twhy=%s\n", skipped[i], reasons[i]);
    print_head();
    shmem_barrier_all();
    for_each_figure(measure, skipped);
    for (int i = 0; i < other_count && !node; i++)
        beside_measure(others[i], nic_count ? nics[0] : "");
    if (me == 0)
        printf("end\tfigures=%ld\twrong=%ld\n", done, wrong_figures);
    fflush(stdout);
    shmem_barrier_all();
    int status = me == 0 ? end_reader() : 0;
    shmem_barrier_all();
    shmem_finalize();
    return status;
}
