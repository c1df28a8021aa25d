/*
 * archive.c: serves device code of NVIDIA's device archive in programs that are built already.
 *
 * That code has no functions of this library: it reads a state in a variable of the program, and
 * memory that the state points to. All PEs allocate that memory together at init, or when the GPUs
 * of all are fixed, if any process of the job has this library by NVIDIA's name: a kernel of a PE
 * uses the memory of the others, whether or not those have registered code. The memory is part of
 * the symmetric heap, and its addresses never change, so that a state stays right until finalize:
 * teams come and go in the table of teams, and the heap grows within its addresses.
 */
#include "archive.h"

#include "archive_memory.h"
#include "error.h"
#include "exchange.h"
#include "memory.h"
#include "team_ids.h"
#include "units.h"

#include <shmem/unit.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The releases that this library serves: minor number, family (which divides memory alike), and
 * size of the state. */
static const struct shmemi_archive_release releases[] = {
    {3, SHMEMI_ARCHIVE_3_3, SHMEMI_ARCHIVE_STATE_3_4},
    {4, SHMEMI_ARCHIVE_3_3, SHMEMI_ARCHIVE_STATE_3_4},
    {5, SHMEMI_ARCHIVE_3_6, SHMEMI_ARCHIVE_STATE_3_5},
    {6, SHMEMI_ARCHIVE_3_6, SHMEMI_ARCHIVE_STATE_3_6},
    {7, SHMEMI_ARCHIVE_3_6, SHMEMI_ARCHIVE_STATE_3_7},
    {8, SHMEMI_ARCHIVE_3_6, SHMEMI_ARCHIVE_STATE_3_8},
};
#define RELEASES (sizeof releases / sizeof *releases)

static const char recompile[] = "compile the program's device code against the headers of this "
                                "library, docs/start/from-nvshmem.md";

static const char no_memory[] =
    "the job has no memory for device code of NVIDIA's (load this library by the name "
    "libnvshmem_host.so.3 before init, and allocate symmetric memory after it)";

/* The programs that have registered. */
static struct program {
    struct program *next;
    struct shmemi_archive_program info;
    void *state; /* the program's variable on the GPU; NULL before the memory is ready */
    int count;   /* how many calls of shmemi_archive_add have named that variable */
} * programs;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of programs */

/* ------------------------------------------------------------------- releases */

/* Returns the table's entry for release 3.minor; NULL if this library does not serve it. */
static const struct shmemi_archive_release *release_of(int minor)
{
    for (size_t i = 0; i < RELEASES; i++)
        if (releases[i].minor == minor)
            return &releases[i];
    return NULL;
}

/* Checks that this library knows the layout of a release: 3.x of the table, and no later one.
 * Returns 0, or -1 with the reason in error. */
int shmemi_archive_check(int major, int minor, int patch, char *error, size_t size)
{
    if (major == 3 && release_of(minor) != NULL)
        return 0;
    snprintf(error, size,
             "device code of NVSHMEM %d.%d.%d, and this library serves that of 3.3 to 3.8 "
             "(%s)",
             major, minor, patch, recompile);
    return -1;
}

/* --------------------------------------------------------------------- memory */

/* The PEs agree by a minimum how the kernels of each PE reach all PEs. A PE whose kernels load and
 * store all heaps contributes DIRECT, and one whose kernels do not BY_CHANNEL. A PE that cannot
 * serve kernels contributes its own number in the upper 32 bits, and in the lower ones a reason:
 * less than BY_CHANNEL, so that it wins, and that of the lowest PE if several cannot. */
#define DIRECT INT64_MAX
#define BY_CHANNEL (INT64_MAX - 1)
enum { NO_GPU = 0x7fffffff, NO_STATE = 0x7ffffffe, NO_CHANNEL = 0x7ffffffd };

/* Returns this PE's contribution to that agreement. Sets direct[pe] to the address at which this
 * PE's kernels load and store the heap of PE pe, 0 if they do not reach it. After NO_STATE, error
 * has the reason. */
static int64_t find_unreached(uint64_t *direct, char *error, size_t size)
{
    const struct shmemi_state *s = &shmemi_state;
    const int64_t me = (int64_t)s->my_pe << 32;
    if (!s->gpu)
        return me | NO_GPU;
    if (shmemi_units_make_image(error, size) != 0)
        return me | NO_STATE;
    const struct shmemi_device_image *image = shmemi_units_image();
    /* The code computes offsets from addresses that the program has passed to kernels. */
    if (image->job.heap != s->heap_base ||
        s->core->gpu_move(direct, image->job.heaps, s->n_pes * sizeof *direct) != SHMEMI_DONE) {
        snprintf(error, size, "kernels have other addresses of the heap than the program");
        return me | NO_STATE;
    }
    for (uint32_t pe = 0; pe < s->n_pes; pe++)
        if (direct[pe] == 0)
            return BY_CHANNEL;
    return DIRECT;
}

/* Records why no kernel of the archive can be served, from the smallest contribution of all PEs
 * (find_unreached). error: the reason of this PE, printed if the contribution is its own. */
static void refuse(int64_t least, const char *error)
{
    const int pe = (int)(least >> 32), reason = (int)(least & 0x7fffffff);
    shmemi_archive_memory.status = SHMEMI_ARCHIVE_REFUSED;
    if (reason == NO_GPU)
        snprintf(
            shmemi_archive_memory.why, sizeof shmemi_archive_memory.why,
            "PE %d has no GPU, and device code of NVIDIA's archive reaches only memory of GPUs "
            "(run all PEs on GPUs, or %s)",
            pe, recompile);
    else
        snprintf(shmemi_archive_memory.why, sizeof shmemi_archive_memory.why,
                 reason == NO_STATE ? "kernels of PE %d: %s"
                                    : "kernels of PE %d do not reach all PEs by loads and stores, "
                                      "and for the others: %s",
                 pe, pe == shmemi_state.my_pe ? error : "see what that PE reports");
}

/* Fills in everything that does not depend on the release of a program: the two tables of heaps,
 * and the counters, which are 1 before the first collective. direct: the first table, by PE.
 * Returns NULL, or the cause if there is no memory or the driver refuses a copy. */
static const char *fill(const uint64_t *direct)
{
    const struct shmemi_archive_places *p = &shmemi_archive_memory.places;
    const uint32_t n = shmemi_state.n_pes;
    const uint64_t at = shmemi_archive_address();
    uint64_t *remote = malloc(n * sizeof *remote);
    long *ones = malloc(2 * p->n_teams * sizeof *ones);
    for (size_t i = 0; ones != NULL && i < 2 * p->n_teams; i++)
        ones[i] = 1;
    /* Operations by the channel name an offset, so they use no address of the second table. */
    for (uint32_t pe = 0; remote != NULL && pe < n; pe++)
        remote[pe] = shmemi_state.heap_base;
    const bool room = remote != NULL && ones != NULL;
    int rc = room ? shmemi_archive_put(at + p->direct, direct, n * sizeof *direct) : -1;
    rc = rc ?: shmemi_archive_put(at + p->remote, remote, n * sizeof *remote);
    for (int f = 0; f < SHMEMI_ARCHIVE_FAMILIES && rc == 0; f++)
        rc = shmemi_archive_put(at + p->sync[f], ones, 2 * p->n_teams * sizeof *ones);
    free(ones);
    free(remote);
    return rc == 0 ? NULL
           : room  ? shmemi_state.core->error()
                   : "no memory for the tables of device code of NVIDIA's archive";
}

/* Agrees with all PEs on the least of what they contribute, which it returns, and of the numbers of
 * teams for which they want memory, in *teams. */
static int64_t agree(int64_t contribution, int64_t *teams, const char *call)
{
    static const struct shmemi_reducer reducer = {shmemi_min_i64, sizeof(int64_t)};
    int64_t mine[2] = {contribution, *teams}, least[2];
    shmemi_exchange(&shmemi_world, least, mine, 2, &reducer, call);
    *teams = least[1];
    return least[0];
}

/* Allocates the memory and fills it in. All PEs call it together; the result is the same on all. */
static void allocate(const char *call)
{
    char error[768] = "";
    int64_t teams = shmemi_state.archive_teams;
    uint64_t *direct = calloc(shmemi_state.n_pes, sizeof *direct);
    int64_t reach = direct == NULL ? (int64_t)shmemi_state.my_pe << 32 | NO_STATE
                                   : find_unreached(direct, error, sizeof error);
    reach = agree(reach, &teams, call);
    if (reach == BY_CHANNEL) {
        if (shmemi_state.core->kernel_channel(&shmemi_archive_memory.channel) != SHMEMI_DONE) {
            snprintf(error, sizeof error, "%s", shmemi_state.core->error());
            reach = (int64_t)shmemi_state.my_pe << 32 | NO_CHANNEL;
        }
        reach = agree(reach, &teams, call);
    }
    if (reach < BY_CHANNEL) {
        refuse(reach, error);
        free(direct);
        return;
    }
    shmemi_archive_memory.by_channel = reach == BY_CHANNEL;
    shmemi_archive_place(&shmemi_archive_memory.places, (int)shmemi_state.n_pes, (uint32_t)teams);
    shmemi_archive_memory.block =
        shmemi_align(/* alignment */ 4096, shmemi_archive_memory.places.size, call);
    if (shmemi_archive_memory.block == NULL) {
        shmemi_archive_memory.status = SHMEMI_ARCHIVE_REFUSED;
        snprintf(shmemi_archive_memory.why, sizeof shmemi_archive_memory.why,
                 "no %zu bytes of the heap are left for collectives of NVIDIA's device code (raise "
                 "SHMEM_SYMMETRIC_SIZE)",
                 shmemi_archive_memory.places.size);
        free(direct);
        return;
    }
    const char *cause =
        shmemi_state.core->gpu_clear(shmemi_archive_memory.block,
                                     shmemi_archive_memory.places.size) != SHMEMI_DONE
            ? shmemi_state.core->error()
            : fill(direct);
    if (cause != NULL)
        shmemi_abort(call, NULL, "%s", cause);
    free(direct);
    shmemi_archive_memory.status = SHMEMI_ARCHIVE_READY;
    shmemi_archive_show(&shmemi_world, SHMEM_TEAM_WORLD, call);
    shmemi_team_ids_each(shmemi_archive_show, call);
    /* A sync, whose result is not used: no kernel of another PE may write before this PE has
     * cleared its memory. */
    agree(0, &teams, call);
}

/* ------------------------------------------------------------------- programs */

/* Copies the state of the job, in the layout of release r, to the variable at address `at` of the
 * GPU. Returns 0, or -1 with the reason in error. */
static int copy_state(uint64_t at, const struct shmemi_archive_release *r, char *error, size_t size)
{
    struct shmemi_archive_state state;
    const int highest = shmemi_team_ids_highest(),
              teams = (int)shmemi_archive_memory.places.n_teams;
    if (highest >= teams) {
        snprintf(error, size,
                 "team %d exists already, and kernels of NVIDIA's know only teams 0 to %d (set "
                 "NVSHMEM_MAX_TEAMS to more than %d)",
                 highest, teams - 1, highest);
        return -1;
    }
    /* Release 3.5 does not round the longs of a team's memory up to an even number, as its family
     * does (shmemi_archive_psync). With an even number of PEs that makes no difference. */
    if (r->minor == 5 && shmemi_state.n_pes % 2 == 1) {
        snprintf(error, size,
                 "device code of NVSHMEM 3.5 in a job of %u PEs, and this library serves it only "
                 "with an even number of them (add a PE, or %s)",
                 shmemi_state.n_pes, recompile);
        return -1;
    }
    shmemi_archive_fill(&state, r, &shmemi_archive_memory.places, shmemi_archive_address(),
                        shmemi_archive_memory.by_channel ? &shmemi_archive_memory.channel : NULL);
    if (shmemi_archive_memory.by_channel && !shmemi_archive_memory.serves)
        shmemi_state.core->kernel_channel(NULL); /* NULL: kernels may use it from now on */
    if (shmemi_archive_put(at, &state, r->state) != 0) {
        snprintf(error, size, "%s", shmemi_state.core->error());
        return -1;
    }
    shmemi_archive_memory.serves = true;
    return 0;
}

/* Fills in the variable at address `at` with the state of NVIDIA's transport by InfiniBand queues:
 * some code reads the number of queues there, although it uses none. DeepEP uses them for PEs that
 * loads and stores do not reach, and its kernels check the number first: in a job with such PEs it
 * is 0, so that they end by their assertion and not by an access to nothing. Returns 0, or -1 with
 * the reason in error. */
static int copy_transport(uint64_t at, char *error, size_t size)
{
    static char state[SHMEMI_ARCHIVE_IBGDA];
    /* Kernels assert that there are as many queues as experts or multiprocessors
     * (docs/decisions/0046). */
    const int32_t queues = shmemi_archive_memory.by_channel ? 0 : 256;
    memcpy(state + SHMEMI_ARCHIVE_IBGDA_QUEUES, &queues, sizeof queues);
    if (shmemi_archive_put(at, state, sizeof state) == 0)
        return 0;
    snprintf(error, size, "%s", shmemi_state.core->error());
    return -1;
}

/* Finds the variables of a program, and copies the state to them. Returns 0, or -1 with the reason
 * in error. The caller has the mutex, and the memory is ready. */
static int attach(struct program *p, char *error, size_t size)
{
    const struct shmemi_archive_release *r = release_of(p->info.minor);
    void *state = NULL, *transport = NULL;
    if (shmemi_state.core->gpu_moved()) {
        snprintf(error, size,
                 "the calling thread uses another GPU than this PE (call cudaSetDevice "
                 "before init, and not after it)");
        return -1;
    }
    if (p->info.find(&p->info, &state, &transport) != 0 || state == NULL) {
        snprintf(error, size,
                 "the program does not find its variable nvshmemi_device_state_d on the "
                 "GPU (build its device code for the architecture of this GPU)");
        return -1;
    }
    if (copy_state((uint64_t)(uintptr_t)state, r, error, size) != 0 ||
        (transport != NULL && copy_transport((uint64_t)(uintptr_t)transport, error, size) != 0))
        return -1;
    p->state = state;
    return 0;
}

/* Removes the program at *at from the list, and frees it. */
static void discard(struct program **at)
{
    struct program *p = *at;
    *at = p->next;
    free(p);
}

/* If another program of the list has the same variable as p, adds its count to that of p, and
 * removes it from the list. There is at most one, because this is called for each new variable. */
static void merge_same_variable(struct program *p)
{
    for (struct program **at = &programs; *at != NULL; at = &(*at)->next) {
        if (*at == p || (*at)->state != p->state)
            continue;
        p->count += (*at)->count;
        discard(at);
        return;
    }
}

/* Adds a program to the list. Copies the state of the job to the program's variable if the memory
 * is ready; otherwise shmemi_archive_settled does. Returns 0, or -1 with the reason in error. */
int shmemi_archive_add(const struct shmemi_archive_program *info, char *error, size_t size)
{
    if (shmemi_archive_check(info->major, info->minor, info->patch, error, size) != 0)
        return -1;
    if (shmemi_archive_memory.status == SHMEMI_ARCHIVE_REFUSED || !shmemi_archive_wanted()) {
        snprintf(error, size, "%s",
                 shmemi_archive_wanted() ? shmemi_archive_memory.why : no_memory);
        return -1;
    }
    struct program *p = malloc(sizeof *p);
    if (p == NULL) {
        snprintf(error, size, "no memory to keep track of the program (free some)");
        return -1;
    }
    pthread_mutex_lock(&mutex);
    *p = (struct program){programs, *info, NULL, 1};
    programs = p;
    int rc = shmemi_archive_memory.status == SHMEMI_ARCHIVE_READY ? attach(p, error, size) : 0;
    if (rc != 0)
        discard(&programs);
    else if (p->state != NULL)
        merge_same_variable(p);
    pthread_mutex_unlock(&mutex);
    return rc;
}

/* Clears a program's variable, when as many calls as shmemi_archive_add have named it. */
void shmemi_archive_drop(void *state)
{
    struct program **at = &programs;
    pthread_mutex_lock(&mutex);
    while (*at != NULL && (*at)->state != state)
        at = &(*at)->next;
    if (*at != NULL && state != NULL && --(*at)->count == 0) {
        (void)shmemi_state.core->gpu_clear(state, release_of((*at)->info.minor)->state);
        discard(at);
    }
    pthread_mutex_unlock(&mutex);
}

/* ---------------------------------------------------------------- modules */

/* Finds a variable, by its name, in a module or library (what) that the program has loaded. Returns
 * its size in bytes, and its address in *at; 0 if there is none. */
static size_t find_variable(enum shmemi_module_what what, const void *handle, char *name,
                            uint64_t *at)
{
    void *found = NULL;
    size_t size = 0;
    if (shmemi_state.core->module_variable(what, (void *)handle, name, &found, &size) !=
        SHMEMI_DONE)
        return 0;
    *at = (uint64_t)(uintptr_t)found;
    return size;
}

/* Copies the state to the variable of a module or library, after a check of the versions of both.
 * archive.h has the results. */
int shmemi_archive_module(enum shmemi_module_what what, const void *handle, void **at, size_t *size,
                          char *error, size_t error_size)
{
    enum { INTERNAL = 7 }; /* what NVIDIA's library returns for another version */
    uint64_t state, word, transport;
    int32_t version[3] = {0};
    *size = find_variable(what, handle, "nvshmemi_device_state_d", &state);
    if (*size == 0)
        return SHMEMI_ARCHIVE_NONE;
    if (find_variable(what, handle, "nvshmemi_device_lib_version_d", &word) != sizeof version ||
        shmemi_state.core->gpu_move(version, (void *)(uintptr_t)word, sizeof version) !=
            SHMEMI_DONE) {
        snprintf(error, error_size,
                 "the code has nvshmemi_device_state_d, and no "
                 "nvshmemi_device_lib_version_d of 12 bytes with its version "
                 "(link it with the device library of one release of NVSHMEM)");
        return INTERNAL;
    }
    if (shmemi_archive_check(version[0], version[1], version[2], error, error_size) != 0)
        return INTERNAL;
    const struct shmemi_archive_release *r = release_of(version[1]);
    if (*size != r->state) {
        snprintf(error, error_size,
                 "the code has %zu bytes of state, and NVSHMEM %d.%d.%d, whose version it has, %u "
                 "(link it with the device library of one release of NVSHMEM)",
                 *size, version[0], version[1], version[2], r->state);
        return INTERNAL;
    }
    if (shmemi_archive_memory.status != SHMEMI_ARCHIVE_READY) {
        snprintf(error, error_size, "%s",
                 shmemi_archive_memory.status == SHMEMI_ARCHIVE_REFUSED ? shmemi_archive_memory.why
                                                                        : no_memory);
        return INTERNAL;
    }
    if (copy_state(state, r, error, error_size) != 0)
        return INTERNAL;
    if (find_variable(what, handle, "nvshmemi_ibgda_device_state_d", &transport) ==
            SHMEMI_ARCHIVE_IBGDA &&
        copy_transport(transport, error, error_size) != 0)
        return INTERNAL;
    *at = (void *)(uintptr_t)state;
    return 0;
}

/* ----------------------------------------------------------------- beginning */

/* Forgets the programs of an earlier job. */
void shmemi_archive_clear(void)
{
    while (programs != NULL)
        discard(&programs);
}

/* Makes the memory for kernels of the archive, and copies the state to the programs that have
 * registered. */
void shmemi_archive_settled(const char *call)
{
    char error[1024] = "";
    if (!shmemi_archive_memory.wanted || shmemi_archive_memory.status != SHMEMI_ARCHIVE_NOT_YET)
        return;
    allocate(call);
    pthread_mutex_lock(&mutex);
    for (struct program *p = programs; p != NULL; p = p->next)
        p->state = NULL; /* of an earlier job; attach finds the variable again */
    for (struct program *p = programs; p != NULL; p = p->next) {
        if (shmemi_archive_memory.status == SHMEMI_ARCHIVE_REFUSED)
            shmemi_abort(call, NULL, "%s", shmemi_archive_memory.why);
        if (attach(p, error, sizeof error) != 0)
            shmemi_abort(call, NULL, "%s", error);
        merge_same_variable(p);
    }
    pthread_mutex_unlock(&mutex);
}
