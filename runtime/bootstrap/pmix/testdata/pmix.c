/*
 * pmix.c: a fake libpmix, for one PE of a job. The others put the same values as this one. The
 * environment says what goes wrong:
 *
 *   PLAY_RANK, PLAY_SIZE  this PE, and the number of PEs
 *   PLAY_INIT             the status of PMIx_Init, or ":never"
 *   PLAY_FENCE            the result of the fence of that number: a status, "never", or "late",
 *                         after the PE has put that it waits; as "3:never"
 *   PLAY_GONE             a PE for whose keys there is no answer
 *   PLAY_LOST             a PE whose keys are not there
 *   PLAY_LOG              a file to which the calls go that end something
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct proc {
    char nspace[256];
    uint32_t rank;
};
struct value {
    uint16_t type;
    union {
        uint32_t number;
        struct {
            char *bytes;
            size_t size;
        } bo;
        char space[24];
    } data;
};
typedef void op_done(int status, void *data);
typedef void value_done(int status, struct value *value, void *data);

struct answer {
    op_done *op;
    value_done *value;
    int status;
    struct value given;
    void *data;
};

static struct {
    char key[64];
    struct value value;
} puts_[4096];
static int n_puts, fences;
static struct answer late; /* of the fence that completes when the PE has put that it waits */

static int number(const char *name, int otherwise)
{
    const char *s = getenv(name);
    return s != NULL && *s != 0 ? atoi(s) : otherwise;
}

static void log_(const char *call, int status, const char *text)
{
    FILE *f = fopen(getenv("PLAY_LOG"), "a");
    fprintf(f, "%s %d %s\n", call, status, text != NULL ? text : "");
    fclose(f);
}

static void *run(void *p)
{
    struct answer *a = p;
    if (a->op != NULL)
        a->op(a->status, a->data);
    else
        a->value(a->status, &a->given, a->data);
    free(a);
    return NULL;
}

/* As PMIx does, from another thread. */
static int reply(struct answer a)
{
    struct answer *copy = malloc(sizeof *copy);
    *copy = a;
    pthread_t thread;
    pthread_create(&thread, NULL, run, copy);
    pthread_detach(thread);
    return 0;
}

int PMIx_Init(struct proc *self, void *info, size_t n)
{
    (void)info, (void)n;
    strcpy(self->nspace, "played");
    self->rank = (uint32_t)number("PLAY_RANK", 0);
    fences = 0;
    const char *init = getenv("PLAY_INIT");
    while (init != NULL && strcmp(init, ":never") == 0)
        pause();
    return number("PLAY_INIT", 0);
}

int PMIx_Finalize(void *info, size_t n)
{
    (void)info, (void)n;
    log_("finalize", 0, NULL);
    return 0;
}

int PMIx_Abort(int status, const char *message, void *procs, size_t n)
{
    (void)procs, (void)n;
    log_("abort", status, message);
    return 0;
}

int PMIx_Put(uint8_t scope, const char *key, struct value *value)
{
    (void)scope;
    snprintf(puts_[n_puts].key, sizeof puts_[n_puts].key, "%s", key);
    struct value *v = &puts_[n_puts++].value;
    *v = *value;
    v->data.bo.bytes = malloc(v->data.bo.size);
    memcpy(v->data.bo.bytes, value->data.bo.bytes, v->data.bo.size);
    if (strncmp(key, "shmem-here", 10) == 0 && late.op != NULL) {
        reply(late);
        late.op = NULL;
    }
    return 0;
}

int PMIx_Commit(void)
{
    return 0;
}

int PMIx_Fence_nb(void *procs, size_t n, void *info, size_t n_info, op_done *done, void *data)
{
    (void)procs, (void)n, (void)info, (void)n_info;
    struct answer a = {.op = done, .data = data};
    const char *how = getenv("PLAY_FENCE");
    const char *what = how != NULL ? strchr(how, ':') : NULL;
    if (what != NULL && atoi(how) == ++fences) {
        if (strcmp(what, ":never") == 0)
            return 0;
        if (strcmp(what, ":late") == 0) {
            late = a;
            return 0;
        }
        a.status = atoi(what + 1);
    }
    return reply(a);
}

int PMIx_Get_nb(const struct proc *proc, const char *key, void *info, size_t n, value_done *done,
                void *data)
{
    (void)info, (void)n;
    struct answer a = {.value = done, .data = data, .status = -46}; /* PMIX_ERR_NOT_FOUND */
    if (strcmp(key, "pmix.job.size") == 0) {
        a.status = 0;
        /* 14: PMIX_UINT32 */
        a.given = (struct value){.type = 14, .data.number = (uint32_t)number("PLAY_SIZE", 1)};
    } else if ((int)proc->rank == number("PLAY_GONE", -1)) {
        return 0;
    } else if ((int)proc->rank != number("PLAY_LOST", -1)) {
        for (int i = 0; i < n_puts; i++) {
            if (strcmp(puts_[i].key, key) == 0) {
                a.status = 0;
                a.given = puts_[i].value;
            }
        }
    }
    return reply(a);
}

int PMIx_Register_event_handler(void *codes, size_t n, void *info, size_t n_info, void *handler,
                                void *done, void *data)
{
    (void)codes, (void)n, (void)info, (void)n_info, (void)handler, (void)done, (void)data;
    return 0;
}

const char *PMIx_Error_string(int status)
{
    return status == -25 /* PMIX_ERR_UNREACH */ ? "UNREACHABLE" : "SOMETHING";
}
