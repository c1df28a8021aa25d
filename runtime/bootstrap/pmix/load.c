/*
 * load.c: loads the functions of libpmix, and calls them.
 *
 * The declarations fit versions 3 to 5 of the PMIx standard, whose library is libpmix.so.2 in all
 * of them. PMIx makes its callbacks in its own thread, which runs only C code here.
 */
#define _GNU_SOURCE
#include "load.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Values of pmix_common.h. */
enum {
    SUCCESS = 0,
    ERROR_NO_MEMORY = -32,
    ERROR_LOST_CONNECTION = -61,
    OPERATION_SUCCEEDED = -157, /* the call is complete, and PMIx makes no callback for it */
    ACTION_COMPLETE = -334,
    SCOPE_GLOBAL = 3,
    TYPE_BOOL = 1,
    TYPE_UINT32 = 14,
    TYPE_BYTES = 27,
};

#define RANK_ALL (UINT32_MAX - 1) /* as a rank: all processes of the job (PMIX_RANK_WILDCARD) */

struct proc {
    char nspace[256];
    uint32_t rank;
};

struct value {
    uint16_t type;
    union {
        bool flag;
        uint32_t uint32;
        struct {
            char *bytes;
            size_t size;
        } bo;
        struct { /* not used: the longest type of PMIx, so that the union has its size */
            char *name, *text;
            char separator;
        } envar;
    } data;
};

struct info {
    char key[512];
    uint32_t flags;
    struct value value;
};

_Static_assert(sizeof(struct value) == 32 && sizeof(struct info) == 552, "layout of PMIx");

typedef void op_done(int status, void *data);
typedef void value_done(int status, struct value *value, void *data);
typedef void event_done(int status, struct info *results, size_t n, op_done *then, void *then_data,
                        void *data);
typedef void event(size_t id, int status, const struct proc *source, struct info *info, size_t n,
                   struct info *results, size_t n_results, event_done *done, void *data);
typedef void registered(int status, size_t id, void *data);

static struct {
    int (*init)(struct proc *self, struct info *info, size_t n);
    int (*finalize)(const struct info *info, size_t n);
    int (*abort_)(int status, const char *message, struct proc *procs, size_t n);
    int (*put)(uint8_t scope, const char *key, struct value *value);
    int (*commit)(void);
    int (*fence)(const struct proc *procs, size_t n, const struct info *info, size_t n_info,
                 op_done *done, void *data);
    int (*get)(const struct proc *proc, const char *key, const struct info *info, size_t n,
               value_done *done, void *data);
    int (*listen)(int *codes, size_t n, struct info *info, size_t n_info, event *handler,
                  registered *done, void *data);
    const char *(*text)(int status);
} real;

static struct proc self;

/* A pair of sockets. ends[1] is shut down when the connection to the server is lost, so that
 * ends[0] becomes readable, even if a forked child has a copy of them. */
static int ends[2] = {-1, -1};
static atomic_int lost;

/* Loads the PMIx library and finds its functions. Returns 0, or -1 and the cause in why. */
int shmemi_pmix_load(const char *file, char *why, size_t len)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL); /* its components may need its symbols */
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(why, len, "%s", reason != NULL ? reason : "it cannot be loaded");
        return -1;
    }
#define TAKE(name, symbol)                                                                         \
    if ((*(void **)&real.name = dlsym(library, symbol)) == NULL) {                                 \
        snprintf(why, len, "%s has no function %s", file, symbol);                                 \
        dlclose(library);                                                                          \
        return -1;                                                                                 \
    }
    TAKE(init, "PMIx_Init")
    TAKE(finalize, "PMIx_Finalize")
    TAKE(abort_, "PMIx_Abort")
    TAKE(put, "PMIx_Put")
    TAKE(commit, "PMIx_Commit")
    TAKE(fence, "PMIx_Fence_nb")
    TAKE(get, "PMIx_Get_nb")
    TAKE(listen, "PMIx_Register_event_handler")
    TAKE(text, "PMIx_Error_string")
#undef TAKE
    return 0;
}

/* Returns PMIx's text for a status; "" if it has none. */
const char *shmemi_pmix_text(int status)
{
    const char *text = real.text(status);
    return text != NULL ? text : "";
}

/* Makes *info an option of a PMIx call: a key with the value true. */
static void set_flag(struct info *info, const char *key)
{
    snprintf(info->key, sizeof info->key, "%s", key);
    info->value.type = TYPE_BOOL;
    info->value.data.flag = true;
}

/* A fence or a get that has been started. It has two owners: the thread that has started it, and
 * PMIx's thread. The one that releases it last frees it. */
struct shmemi_pmix_call {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int owners;
    bool done;
    int status;
    uint16_t type;
    size_t size;
    void *bytes;
    uint32_t number;
    struct info info; /* PMIx reads this and the two below until the call completes */
    struct proc proc;
    char key[64];
};

/* Allocates a call about the process with this rank, with the references of both owners, because
 * either may release its own first. The caller starts the call. Returns NULL if there is no memory.
 */
static struct shmemi_pmix_call *allocate_call(uint32_t rank)
{
    struct shmemi_pmix_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    pthread_condattr_t attr;
    pthread_mutex_init(&call->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&call->cond, &attr);
    pthread_condattr_destroy(&attr);
    call->owners = 2;
    call->proc = self;
    call->proc.rank = rank;
    return call;
}

/* Releases one of the two references to a call: the caller's and PMIx's. The last one frees it. */
void shmemi_pmix_free(struct shmemi_pmix_call *call)
{
    pthread_mutex_lock(&call->mutex);
    int left = --call->owners;
    pthread_mutex_unlock(&call->mutex);
    if (left > 0)
        return;
    pthread_cond_destroy(&call->cond);
    pthread_mutex_destroy(&call->mutex);
    free(call->bytes);
    free(call);
}

/* Callback of PMIx: records the result of a call, wakes its waiter, and releases PMIx's reference
 * to the call. */
static void complete(int status, struct value *value, void *data)
{
    struct shmemi_pmix_call *call = data;
    pthread_mutex_lock(&call->mutex);
    if (status == SUCCESS && value != NULL) {
        call->type = value->type;
        if (value->type == TYPE_UINT32) {
            call->number = value->data.uint32;
        } else if (value->type == TYPE_BYTES && value->data.bo.size > 0) {
            call->bytes = malloc(value->data.bo.size);
            if (call->bytes != NULL) {
                call->size = value->data.bo.size;
                memcpy(call->bytes, value->data.bo.bytes, call->size);
            } else {
                status = ERROR_NO_MEMORY;
            }
        }
    }
    call->status = status;
    call->done = true;
    pthread_cond_signal(&call->cond);
    pthread_mutex_unlock(&call->mutex);
    shmemi_pmix_free(call);
}

/* Callback of PMIx for calls that return no value. */
static void complete_op(int status, void *data)
{
    complete(status, NULL, data);
}

/* Completes a call if PMIx will not: status is what the PMIx function that starts the call has
 * returned, and unless it is SUCCESS, there will be no callback. Returns the call. */
static struct shmemi_pmix_call *complete_if_refused(struct shmemi_pmix_call *call, int status)
{
    if (status != SUCCESS)
        complete(status == OPERATION_SUCCEEDED ? SUCCESS : status, NULL, call);
    return call;
}

/* Waits until a call completes, up to ms milliseconds; below 0: for ever. Returns the call's
 * status, or SHMEMI_PMIX_TIMEOUT. Sets *bytes and *n to the value that a get has found. */
int shmemi_pmix_wait(struct shmemi_pmix_call *call, int64_t ms, const void **bytes, size_t *n)
{
    struct timespec end; /* not used if ms is below 0 */
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&call->mutex);
    int rc = 0;
    while (!call->done && rc != ETIMEDOUT) {
        if (ms < 0)
            pthread_cond_wait(&call->cond, &call->mutex);
        else
            rc = pthread_cond_timedwait(&call->cond, &call->mutex, &end);
    }
    int status = call->done ? call->status : SHMEMI_PMIX_TIMEOUT;
    if (bytes != NULL) {
        *bytes = call->bytes;
        *n = call->size;
    }
    pthread_mutex_unlock(&call->mutex);
    return status;
}

/* Records that the connection to the server is lost. PMIx calls it when that happens, in a thread
 * of its own. The shutdown makes the descriptor of shmemi_pmix_server_lost_fd readable. */
static void note_server_lost(size_t id, int status, const struct proc *source, struct info *info,
                             size_t n, struct info *results, size_t n_results, event_done *done,
                             void *data)
{
    (void)id, (void)status, (void)source, (void)info, (void)n, (void)results, (void)n_results;
    atomic_store(&lost, 1);
    shutdown(ends[1], SHUT_RDWR);
    if (done != NULL)
        done(ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

/* Joins the job: sets the rank of this process, and the size of the job. Returns a status of PMIx.
 */
int shmemi_pmix_init(uint32_t *rank, uint32_t *size)
{
    int status = real.init(&self, NULL, 0);
    if (status != SUCCESS)
        return status;
    if (ends[0] < 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        ends[0] = ends[1] = -1; /* without them only the next fence or get notices the loss */
    static int codes[] = {ERROR_LOST_CONNECTION};
    real.listen(codes, 1, NULL, 0, note_server_lost, NULL, NULL);
    *rank = self.rank;
    struct shmemi_pmix_call *call = shmemi_pmix_get(RANK_ALL, "pmix.job.size");
    if (call == NULL)
        return ERROR_NO_MEMORY;
    status = shmemi_pmix_wait(call, -1, NULL, NULL); /* the server has sent it at PMIx_Init */
    *size = call->type == TYPE_UINT32 ? call->number : 0;
    shmemi_pmix_free(call);
    return status;
}

/* Leaves PMIx. Returns a status of PMIx. */
int shmemi_pmix_finalize(void)
{
    return real.finalize(NULL, 0);
}

/* Puts bytes under a key, for all processes of the job, and commits them. Returns a status of PMIx.
 */
int shmemi_pmix_put(const char *key, const void *bytes, size_t n)
{
    struct value value = {.type = TYPE_BYTES, .data.bo = {(char *)bytes, n}};
    int status = real.put(SCOPE_GLOBAL, key, &value);
    return status == SUCCESS ? real.commit() : status;
}

/* Starts a fence of all processes, which also collects what they have put; shmemi_pmix_wait returns
 * its status. Returns NULL if there is no memory. */
struct shmemi_pmix_call *shmemi_pmix_fence(void)
{
    struct shmemi_pmix_call *call = allocate_call(RANK_ALL);
    if (call == NULL)
        return NULL;
    set_flag(&call->info, "pmix.collect");
    return complete_if_refused(call, real.fence(&call->proc, 1, &call->info, 1, complete_op, call));
}

/* Starts to get what a process has put under a key; shmemi_pmix_wait returns the bytes, or the
 * error, even if PMIx has refused the call. Returns NULL if there is no memory. */
struct shmemi_pmix_call *shmemi_pmix_get(uint32_t rank, const char *key)
{
    struct shmemi_pmix_call *call = allocate_call(rank);
    if (call == NULL)
        return NULL;
    snprintf(call->key, sizeof call->key, "%s", key);
    return complete_if_refused(call, real.get(&call->proc, call->key, NULL, 0, complete, call));
}

/* Requests the end of the job from the launcher, with an exit status. */
void shmemi_pmix_abort(int status)
{
    real.abort_(status, "", NULL, 0);
}

/* Reports whether PMIx has lost the connection to its server. */
int shmemi_pmix_server_lost(void)
{
    return atomic_load(&lost);
}

/* Returns the descriptor that becomes readable when the connection to the server is lost, or -1. */
int shmemi_pmix_server_lost_fd(void)
{
    return ends[0];
}
