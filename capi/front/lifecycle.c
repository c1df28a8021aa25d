/*
 * lifecycle.c: init and finalize.
 *
 * Loading the library runs none of this: it starts no thread and prints nothing.
 */
#define _GNU_SOURCE
#include "lifecycle.h"

#include "activity.h"
#include "archive_memory.h"
#include "report_signal.h"
#include "barrier.h"
#include "buffer_register.h"
#include "caller.h"
#include "context_make.h"
#include "eager_counters.h"
#include "error.h"
#include "failure.h"
#include "front.h"
#include "leave.h"
#include "loader.h"
#include "lock_late.h"
#include "modules.h"
#include "notification.h"
#include "ranges.h"
#include "receive.h"
#include "send.h"
#include "sleep.h"
#include "spell.h"
#include "statics.h"
#include "stream.h"
#include "sync.h"
#include "team_always.h"
#include "units.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Guards init and finalize when threads race to them. */
static pthread_mutex_t lifecycle = PTHREAD_MUTEX_INITIALIZER;

extern char **environ;

/* The error of the last init or unique id that failed, for the Python package, which raises it. */
static char init_error[1024];

#pragma GCC visibility push(default)
const char *shmemi_init_error(void);
#pragma GCC visibility pop

/* Returns the text of the error of the last init or unique ID that failed. */
const char *shmemi_init_error(void)
{
    return init_error;
}

/* Records the error of an init for shmemi_init_error, and prints it unless the program's language
 * (Python) raises it as an exception. */
static void note_init_error(const char *call, const char *error)
{
    char line[1280];
    snprintf(init_error, sizeof init_error, "%s", error);
    snprintf(line, sizeof line, "shmem: %s: %s\n", call, error);
    shmemi_use_program_names(line, sizeof line);
    if (!shmemi_host_language_raises())
        fputs(line, stderr);
}

static const char *finalizes_at_exit; /* the call that asked for finalize at exit, or NULL */

static uint32_t joined; /* how often this process has joined a job */
static bool by_program; /* the program chose the last job, by a unique ID or MPI */

/* Returns the number of the job that this process has joined last: 1 for the first one, 0 before
 * any. */
uint32_t shmemi_join_count(void)
{
    return joined;
}

/* Reports whether the program itself chose the job that it has joined, by a unique ID or by MPI,
 * instead of the launcher's. */
bool shmemi_joined_by_program(void)
{
    return by_program;
}

/* Returns 0, or -1 with an error if this process is a child that was forked after init: it has none
 * of the core's threads. */
static int check_forked(char *error, size_t size)
{
    if (shmemi_state.init_count != SHMEMI_FORKED)
        return 0;
    snprintf(error, size,
             "this process is a child forked after shmem_init (exec a program, or fork before "
             "shmem_init)");
    return -1;
}

/* Copies the state of the job to the program's kernels, if it has any, and starts the support for
 * operations on CUDA streams. Returns 0, or -1 with an error. */
static int begin_kernels(char *error, size_t size)
{
    bool has_kernels;
    if (shmemi_units_begin(&has_kernels, error, size) != 0)
        return -1;
    return has_kernels ? shmemi_streams_begin(error, size) : 0;
}

/* At finalize: clears the kernels' copies of the job's state, which are in modules that the program
 * has loaded, and in its linked translation units. reset: the program has reset the GPU
 * (cudaDeviceReset), which has freed the copies. */
static void end_kernels(bool reset)
{
    shmemi_modules_end(reset);
    shmemi_streams_end();
    shmemi_units_end(reset);
}

/* Blocks Go's preemption signal in this thread, in exit: Go may send SIGURG to a thread that calls
 * Go, and ends the process if the signal arrives when the thread has no signal stack any more
 * (depart in capi/core/core.c). That ended one of four Python processes with faulthandler. */
static void block_preemption(void)
{
    sigset_t preemption;
    sigemptyset(&preemption);
    sigaddset(&preemption, SIGURG);
    pthread_sigmask(SIG_BLOCK, &preemption, NULL);
}

/* The process that called init, 0 before any: a child of fork inherits the exit handlers. */
static pid_t owner;

/* Exit handler of a PE that does not finalize: waits until everything that it has sent has arrived,
 * since other PEs may need it. Does nothing if the program fails, in a child of fork, or if another
 * thread is in init or finalize. */
static void leave_at_exit(int status, void *unused)
{
    (void)unused;
    if (status != 0 || shmemi_state.n_pes == 0 || getpid() != owner || finalizes_at_exit != NULL ||
        pthread_mutex_trylock(&lifecycle) != 0)
        return;
    block_preemption();
    if (shmemi_state.n_pes > 0) /* no other thread has finalized meanwhile */
        shmemi_leave();
    pthread_mutex_unlock(&lifecycle);
}

/*
 * Exit handler of a program that wants finalize at exit. `call` names the call that asked for it. A
 * PE that ends with an error does not call finalize, whose barrier waits for the other PEs: these
 * might never call it, and would not learn of the error while this PE waits. The launcher informs
 * them.
 */
static void finalize_at_exit(int status, void *call)
{
    block_preemption();
    while (status == 0 && shmemi_state.n_pes > 0)
        shmemi_finalize(call);
}

/* Registers the exit handlers, which run in the reverse order of their registration. NVIDIA's
 * driver registers its own handler when it is opened. The library's handlers have to run before
 * that one, so they are registered once more in the first init with a GPU. A failure of on_exit is
 * ignored: then other PEs may wait for messages that this PE has not flushed, and nothing else is
 * lost. */
static void register_exit_handlers(void)
{
    static bool after_driver;
    if (owner != 0 && (after_driver || !shmemi_state.gpu))
        return;
    after_driver |= shmemi_state.gpu != 0;
    if (finalizes_at_exit != NULL && after_driver)
        (void)on_exit(finalize_at_exit, (void *)finalizes_at_exit);
    (void)on_exit(leave_at_exit, NULL);
}

/* Joins the job, or counts one more init if the process is in one. Loads and starts the core, which
 * fills in shmemi_state, and then starts the parts of the front. Returns 0, or -1 with an error; in
 * that case it has undone everything. */
static int initialise(int requested, int *provided, const struct shmemi_chosen_job *job,
                      char *error, size_t size)
{
    struct shmemi_state *s = &shmemi_state;

    if (check_forked(error, size) != 0)
        return -1;
    if (s->init_count > 0) {
        s->init_count++;
        *provided = s->thread_level;
        return 0;
    }
    /* This comes first: it is cheap only while the process has one thread, and the core starts
     * others. */
    bool wakeable = shmemi_register_sleepers();
    struct shmemi_init_args args = {
        .requested = requested,
        .provided = SHMEM_THREAD_MULTIPLE,
        .kernels = shmemi_units_present(),
        .environ_ = (const char *const *)environ,
        .uid = job ? job->uid : NULL,
        .uid_pe = job ? job->pe : 0,
        .uid_n_pes = job ? job->n_pes : 0,
        .mpi_comm = job ? job->mpi_comm : NULL,
        .nvshmem = shmemi_is_nvshmem(),
        .ranges = shmemi_ranges_open,
        .range_enter = shmemi_range_enter,
        .range_leave = shmemi_range_leave,
        .doing = shmemi_activity_doing,
        .finalized = shmemi_activity_finalized,
        .flush = shmemi_flush_stdout,
        .error = error,
        .error_size = size,
    };
    shmemi_statics_offer(&args);
    const struct shmemi_core *core = shmemi_core_open(error, size);
    if (core == NULL)
        return -1;
    s->wakeable = wakeable;
    s->core = core;
    if (core->init(s, &args) != 0) {
        s->n_pes = 0;
        s->heap_size = 0;
        return -1;
    }
    shmemi_failure_open();
    shmemi_lock_late_open();
    shmemi_barrier_open();
    shmemi_notification_open();
    shmemi_eager_counters_open();
    bool allocated = shmemi_teams_open() == 0 && shmemi_send_open() && shmemi_receive_open();
    if (!allocated)
        snprintf(error, size, "no memory for the lists of %u PEs (free some)", s->n_pes);
    if (!allocated || shmemi_statics_open(error, size) != 0 || begin_kernels(error, size) != 0) {
        shmemi_report_signal_close();
        shmemi_statics_close();
        shmemi_send_close();
        shmemi_receive_close();
        shmemi_teams_close();
        core->finalize();
        s->n_pes = 0;
        s->heap_size = 0;
        return -1;
    }
    s->thread_level = args.provided;
    s->init_count = 1;
    register_exit_handlers();
    owner = getpid();
    joined++;
    shmemi_abort_note_joined();
    by_program = job != NULL;
    shmemi_activity_open();
    shmemi_report_signal_open();
    *provided = args.provided;
    return 0;
}

/* Serves all init calls: checks the thread level, and joins the job that the program has chosen, or
 * the launcher's if job is NULL. Returns 0, or non-zero after it has printed an error. *provided
 * becomes the thread level that the job has. */
static int join_job(int requested, int *provided, const struct shmemi_chosen_job *job,
                    const char *call)
{
    char error[1024] = "";
    int level = SHMEM_THREAD_SINGLE;
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) {
        fprintf(stderr,
                "shmem: %s: thread level %d does not exist (use SHMEM_THREAD_SINGLE, FUNNELED, "
                "SERIALIZED or MULTIPLE)\n",
                call, requested);
        return -1;
    }
    SHMEMI_RANGE(INIT, call); /* if the process is in a job, the range of this call begins here */
    pthread_mutex_lock(&lifecycle);
    shmemi_ranges_await(call);
    int rc = initialise(requested, &level, job, error, sizeof error);
    shmemi_ranges_settle(shmemi_state.n_pes > 0);
    pthread_mutex_unlock(&lifecycle);
    if (rc != 0) {
        note_init_error(call, error);
        return rc;
    }
    if (provided)
        *provided = level;
    return 0;
}

/* Implements shmem_init_thread: joins the launcher's job. Returns 0, or non-zero after an error. */
int shmemi_init_thread(int requested, int *provided, const char *call)
{
    return join_job(requested, provided, /* job */ NULL, call);
}

/* Joins the job that the program has chosen, or the launcher's if job is NULL. The thread level is
 * not reported to the caller. Returns what shmemi_init_thread returns. */
int shmemi_init_chosen_job(const struct shmemi_chosen_job *job, const char *call)
{
    return join_job(SHMEM_THREAD_SINGLE, /* provided */ NULL, job, call);
}

/* Loads the core, if it is not loaded. Returns it, or NULL with the reason in error. The caller has
 * the lock. */
static const struct shmemi_core *load_core(char *error, size_t size)
{
    const struct shmemi_core *core =
        check_forked(error, size) == 0 ? shmemi_core_open(error, size) : NULL;
    /* This shows a child of fork that the core was loaded: it refuses calls, since it has none of
     * the core's threads. */
    if (core != NULL)
        shmemi_state.core = core;
    return core;
}

/* Loads the core, if it is not loaded, for calls that need no job. Returns it, or NULL with the
 * reason in error. */
const struct shmemi_core *shmemi_load_core(char *error, size_t size)
{
    pthread_mutex_lock(&lifecycle);
    const struct shmemi_core *core = load_core(error, size);
    pthread_mutex_unlock(&lifecycle);
    return core;
}

/* Loads the core, if it is not loaded, and calls it to make a unique ID. The process joins no job.
 * Returns 0, or -1 after an error. */
int shmemi_make_uniqueid(shmemx_uniqueid_t *uid, const char *call)
{
    char error[1024] = "";
    pthread_mutex_lock(&lifecycle);
    const struct shmemi_core *core = load_core(error, sizeof error);
    int rc =
        core == NULL ? -1 : core->uniqueid((const char *const *)environ, uid, error, sizeof error);
    pthread_mutex_unlock(&lifecycle);
    if (rc != 0)
        note_init_error(call, error);
    return rc;
}

/* Implements shmem_init: ends the process if it fails. */
void shmemi_init(const char *call)
{
    int provided;
    if (shmemi_init_thread(SHMEM_THREAD_SINGLE, &provided, call) != 0)
        exit(EXIT_FAILURE);
}

/* Implements shmem_finalize: counts one init less. The call that matches the first init leaves the
 * job: it waits for all PEs in a barrier, and then closes the parts of the library in the reverse
 * order of init. */
void shmemi_finalize(const char *call)
{
    struct shmemi_state *s = &shmemi_state;
    SHMEMI_RANGE(INIT, call);
    pthread_mutex_lock(&lifecycle);
    if (s->n_pes == 0) {
        pthread_mutex_unlock(&lifecycle);
        if (s->init_count == SHMEMI_FORKED)
            shmemi_refuse_uninitialised(call);
        fprintf(stderr,
                "shmem: %s: it was called more often than init, and does nothing (call it once for "
                "each init)\n",
                call);
        return;
    }
    if (s->init_count > 1) {
        s->init_count--;
    } else {
        bool reset = s->gpu && s->core->gpu_was_reset();
        shmemi_ctx_end(call);
        /* After a loss no barrier is possible: this PE completes its own operations, and the PEs
         * that are alive leave the job in core->finalize. */
        if (shmemi_some_lost())
            shmemi_quiet(SHMEM_CTX_DEFAULT, call);
        else
            shmemi_barrier_all(call);
        end_kernels(reset);
        shmemi_report_signal_close();
        shmemi_buffers_close(call);
        shmemi_activity_leave();
        shmemi_archive_end();
        s->core->finalize();
        shmemi_statics_close();
        shmemi_send_close();
        shmemi_receive_close();
        shmemi_teams_close();
        shmemi_ctx_reset();
        s->n_pes = 0;
        s->heap_size = 0;
        s->heap_base = 0;
        s->networked = 0;
        s->ranges = 0;
        s->init_count = 0;
    }
    pthread_mutex_unlock(&lifecycle);
}

/* Registers finalize as an exit handler, once. `call` is a string that stays valid until then. */
void shmemi_finalize_at_exit(const char *call)
{
    pthread_mutex_lock(&lifecycle);
    if (finalizes_at_exit == NULL && on_exit(finalize_at_exit, (void *)call) != 0)
        shmemi_abort(call, "call shmem_finalize",
                     "no room to register finalize for the end of the program");
    finalizes_at_exit = call;
    pthread_mutex_unlock(&lifecycle);
}

/* Implements shmem_global_exit: ends the job with a status. */
void shmemi_global_exit(int status, const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
    /* The kernel passes on only 8 bits of a status. If all of them were 0, a failure would look
     * like success. */
    if (status != 0 && (status & 0xff) == 0)
        status = 1;
    fflush(NULL); /* all streams: _exit does not flush them */
    shmemi_state.core->global_exit(status);
    _exit(status);
}
