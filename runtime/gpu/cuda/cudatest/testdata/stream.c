/*
 * stream.c: streams, events, and their work. No work is done before a caller waits for it or
 * queries its state, and each query does one piece of work, so that a test fails if code uses a
 * result without a wait. With works=1 a thread does the work by itself, for whole programs.
 */
#define _GNU_SOURCE
#include "driver.h"
#include "stream.h"

enum { STREAMS = 32, EVENTS = 256, QUEUE = 256 };

static struct stream {
    bool open, dead; /* dead: a reset has ended it */
    void *context;   /* that it was made in */
    struct work queue[QUEUE];
    unsigned head, tail; /* positions, modulo QUEUE: the oldest work, and behind the newest */
} streams[STREAMS] = {{.open = true}}; /* the first is the default stream */

static struct event {
    bool open, dead;
    void *context;             /* that it was made in */
    unsigned long marked, met; /* how many records were queued, and which one was reached last */
    struct stream *stream;     /* of the last record */
} events[EVENTS];

/* Returns the error of a call with a handle of no stream. A stream that a reset has ended ends the
 * process, as with the real driver. */
static int no_stream(const void *name)
{
    const struct stream *s = name;
    if (s >= streams && s < streams + STREAMS && s->dead)
        abort();
    return INVALID_VALUE;
}

static int no_event(const void *name)
{
    const struct event *e = name;
    return e >= events && e < events + EVENTS && e->dead ? CONTEXT_IS_DESTROYED : INVALID_VALUE;
}

/* Returns the handle of a stream: NULL for the default stream. */
static void *name_of(struct stream *s)
{
    return s == streams ? NULL : s;
}

static struct stream *stream_of(void *name)
{
    struct stream *s = name == NULL ? streams : name;
    bool known = s >= streams && s < streams + STREAMS && s->open;
    return known ? s : NULL;
}

static struct event *event_of(void *name)
{
    struct event *e = name;
    return e >= events && e < events + EVENTS && e->open ? e : NULL;
}

static bool met(uint64_t word, uint64_t value, unsigned until)
{
    return until == 0   ? (int64_t)(word - value) >= 0
           : until == 1 ? word == value
                        : (word & value) != 0;
}

/* The kernels of runtime/gpu/amo/amo.ptx in C. op is a number of enum shmemi_amo; 8 is a fetch. */
#define APPLY(T)                                                                                   \
    static uint64_t apply_##T(T *at, unsigned op, T operand, T compare)                            \
    {                                                                                              \
        T old = *at;                                                                               \
        switch (op) {                                                                              \
        case 1:                                                                                    \
        case 6:                                                                                    \
            return __atomic_exchange_n(at, operand, __ATOMIC_SEQ_CST);                             \
        case 2:                                                                                    \
        case 9:                                                                                    \
            return __atomic_fetch_add(at, operand, __ATOMIC_SEQ_CST);                              \
        case 3:                                                                                    \
        case 10:                                                                                   \
            return __atomic_fetch_and(at, operand, __ATOMIC_SEQ_CST);                              \
        case 4:                                                                                    \
        case 11:                                                                                   \
            return __atomic_fetch_or(at, operand, __ATOMIC_SEQ_CST);                               \
        case 5:                                                                                    \
        case 12:                                                                                   \
            return __atomic_fetch_xor(at, operand, __ATOMIC_SEQ_CST);                              \
        case 7:                                                                                    \
            old = compare;                                                                         \
            __atomic_compare_exchange_n(at, &old, operand, false, __ATOMIC_SEQ_CST,                \
                                        __ATOMIC_SEQ_CST);                                         \
            return old;                                                                            \
        default:                                                                                   \
            return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                          \
        }                                                                                          \
    }
APPLY(uint32_t)
APPLY(uint64_t)

/* Reports whether work has to wait until the program has loaded its kernel (fake_loads). Work that
 * needs a time slice of the GPU (fake_waits_for_slice) waits until then, too. */
static bool stands(const struct stream *s, const struct work *w)
{
    return fake_loads() && (fake_is_primary(s->context) || fake_of_primary(w->to) ||
                            fake_of_primary(w->from) || fake_waits_for_slice(w));
}

/* Does one piece of the stream's work. Returns false if the stream has none or has to wait. */
static bool step(struct stream *s)
{
    if (s->head == s->tail)
        return false;
    struct work *w = &s->queue[s->head % QUEUE];
    if (stands(s, w))
        return false;
    struct event *e = w->event;
    char *to = fake_reached(w->to);
    uint64_t *word = (void *)to;
    switch (w->what) {
    case MOVE:
        memmove(to, fake_reached(w->from), w->n);
        break;
    case FILL:
        for (size_t k = 0; k < w->n; k++)
            to[k] = (char)(w->value >> (k % 4 * 8));
        break;
    case STORE:
        __atomic_store_n(word, w->value, __ATOMIC_RELEASE);
        break;
    case STORE32:
        __atomic_store_n((uint32_t *)word, (uint32_t)w->value, __ATOMIC_RELEASE);
        break;
    case ATOMIC:
        if (w->claim != NULL && *w->claim != w->free)
            break; /* another stream has done this operation (gpu.Atomic.Claim) */
        if (w->claim != NULL)
            *w->claim += 2;
        *w->fetched = (w->until & 255) == 4
                          ? apply_uint32_t((uint32_t *)word, w->until >> 8, (uint32_t)w->value,
                                           (uint32_t)w->compare)
                          : apply_uint64_t(word, w->until >> 8, w->value, w->compare);
        break;
    case WATCH:
        if (!met(__atomic_load_n(word, __ATOMIC_ACQUIRE), w->value, w->until))
            return false;
        break;
    case MARK:
        e->met = w->value;
        break;
    case AFTER:
        if (e->met < w->value && !step(e->stream))
            return false;
        if (e->met < w->value)
            return true;
        break;
    }
    s->head++;
    return true;
}

static bool working;

static void *work(void *unused)
{
    (void)unused;
    for (;;) {
        bool did = false;
        pthread_mutex_lock(&fake_lock);
        for (struct stream *s = streams; s < streams + STREAMS; s++)
            while (s->open && step(s))
                did = true;
        pthread_mutex_unlock(&fake_lock);
        if (!did)
            usleep(20);
    }
    return NULL;
}

static void start_work(void)
{
    pthread_t thread;
    if (!working && fake_setting("works", 0) != 0 &&
        pthread_create(&thread, NULL, work, NULL) == 0) {
        pthread_detach(thread);
        working = true;
    }
}

int fake_may_work(void *stream)
{
    return fake_needs_context() ?: LOCKED(stream_of(stream)) == NULL ? no_stream(stream) : 0;
}

void *fake_stream_context(void *stream)
{
    struct stream *s = stream_of(stream);
    return s == NULL || s == streams ? fake_context() : s->context;
}

int fake_later(struct work w, void *stream)
{
    pthread_mutex_lock(&fake_lock);
    struct stream *s = stream_of(stream);
    while (working && s != NULL && s->tail - s->head == QUEUE) {
        pthread_mutex_unlock(&fake_lock);
        usleep(20);
        pthread_mutex_lock(&fake_lock);
    }
    if (s == NULL || s->tail - s->head == QUEUE)
        abort();
    s->queue[s->tail++ % QUEUE] = w;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

void fake_drop_streams_of(const void *context)
{
    for (struct stream *s = streams + 1; s < streams + STREAMS; s++)
        if (s->context == context)
            s->open = false;
    for (struct event *e = events; e < events + EVENTS; e++)
        if (e->context == context)
            e->open = false;
}

static int end_event(void *name)
{
    struct event *e = event_of(name);
    if (e == NULL)
        return no_event(name);
    for (struct stream *s = streams; s < streams + STREAMS; s++)
        for (unsigned i = s->head; i != s->tail; i++)
            if (s->queue[i % QUEUE].event == e)
                s->queue[i % QUEUE] = (struct work){.what = FILL}; /* of no bytes */
    e->open = false;
    return 0;
}

void fake_reset_streams(const void *context)
{
    for (struct stream *s = streams; s < streams + STREAMS; s++)
        if (s == streams)
            s->head = s->tail;
        else if (s->open && s->context == context)
            *s = (struct stream){.dead = true};
    for (struct event *e = events; e < events + EVENTS; e++)
        if (e->open && e->context == context) {
            end_event(e);
            e->dead = true;
        }
}

void fake_drop_streams(void)
{
    memset(events, 0, sizeof events);
    memset(streams, 0, sizeof streams);
    streams[0].open = true;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    BEGIN(flags != 1 /* non-blocking */ ? INVALID_VALUE : fake_needs_context());
    pthread_mutex_lock(&fake_lock);
    struct stream *s = streams;
    while (s < streams + STREAMS && (s->open || s->dead))
        s++;
    if (s == streams + STREAMS)
        abort();
    *s = (struct stream){.open = true, .context = fake_context()};
    *stream = name_of(s);
    start_work();
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

static int end_stream(void *name)
{
    struct stream *s = stream_of(name);
    if (s == NULL || s == streams)
        return no_stream(name);
    while (step(s))
        ;
    s->open = false;
    return 0;
}

int cuStreamDestroy_v2(void *stream)
{
    END(fake_needs_context() ?: LOCKED(end_stream(stream)));
}

/* Does the stream's work until none is left or, if word is not NULL, until *word is at least
 * `until`. */
static void drain(struct stream *s, unsigned long *word, unsigned long until)
{
    pthread_mutex_lock(&fake_lock);
    while (word == NULL ? s->head != s->tail : *word < until)
        if (!step(s)) {
            pthread_mutex_unlock(&fake_lock);
            usleep(100);
            pthread_mutex_lock(&fake_lock);
        }
    pthread_mutex_unlock(&fake_lock);
}

int cuStreamSynchronize(void *stream)
{
    struct stream *s = LOCKED(stream_of(stream));
    int result = fake_may_wait();
    if (result == 0 && s == NULL)
        result = no_stream(stream);
    if (result == 0)
        drain(s, NULL, 0); /* also if the test makes the call fail: the caller then frees memory */
    END(result);
}

static int ask(void *name)
{
    struct stream *s = stream_of(name);
    if (s == NULL)
        return no_stream(name);
    if (s->head == s->tail)
        return 0;
    step(s);
    return NOT_READY;
}

int cuStreamQuery(void *stream)
{
    BEGIN(fake_may_wait() ?: LOCKED(ask(stream)));
    return 0;
}

int cuStreamGetCtx(void *stream, void **context)
{
    struct stream *s = LOCKED(stream_of(stream));
    BEGIN(s == NULL ? no_stream(stream) : s == streams ? fake_needs_context() : 0);
    *context = s == streams ? fake_context() : s->context;
    return 0;
}

/* capturing=1 makes every stream one that is captured. */
int cuStreamIsCapturing(void *stream, int *status)
{
    BEGIN(fake_may_work(stream));
    *status = (int)fake_setting("capturing", 0);
    return 0;
}

int cuEventCreate(void **event, unsigned flags)
{
    BEGIN(flags != 2 /* no timing */ ? INVALID_VALUE : fake_needs_context());
    pthread_mutex_lock(&fake_lock);
    struct event *e = events;
    while (e < events + EVENTS && (e->open || e->dead))
        e++;
    if (e == events + EVENTS)
        abort();
    *e = (struct event){.open = true, .context = fake_context(), .stream = streams};
    *event = e;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

int cuEventDestroy_v2(void *event)
{
    END(fake_needs_context() ?: LOCKED(end_event(event)));
}

int cuEventRecord(void *event, void *stream)
{
    struct event *e = LOCKED(event_of(event));
    struct stream *s = LOCKED(stream_of(stream));
    BEGIN(e == NULL                                  ? no_event(event)
          : s == NULL                                ? no_stream(stream)
          : s != streams && e->context != s->context ? INVALID_HANDLE
                                                     : fake_needs_context());
    e->stream = s;
    return fake_later((struct work){.what = MARK, .event = e, .value = LOCKED(++e->marked)},
                      stream);
}

static int ask_event(void *name)
{
    struct event *e = event_of(name);
    if (e == NULL)
        return no_event(name);
    if (e->met == e->marked)
        return 0;
    step(e->stream);
    return NOT_READY;
}

int cuEventQuery(void *event)
{
    BEGIN(fake_may_wait() ?: LOCKED(ask_event(event)));
    return 0;
}

int cuEventSynchronize(void *event)
{
    struct event *e = LOCKED(event_of(event));
    BEGIN(e == NULL ? no_event(event) : fake_may_wait());
    drain(e->stream, &e->met, LOCKED(e->marked));
    return 0;
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    struct event *e = LOCKED(event_of(event));
    BEGIN(e == NULL ? no_event(event) : flags != 0 ? INVALID_VALUE : fake_may_work(stream));
    return fake_later((struct work){.what = AFTER, .event = e, .value = LOCKED(e->marked)}, stream);
}

#ifndef NO_LATE
int cuStreamWriteValue64_v2(void *stream, uint64_t to, uint64_t value, unsigned flags)
{
    BEGIN(flags != 0 || to % 8 != 0 ? INVALID_VALUE : fake_may_work(stream));
    return fake_later((struct work){.what = STORE, .to = (void *)to, .value = value}, stream);
}

int cuStreamWriteValue32_v2(void *stream, uint64_t to, uint32_t value, unsigned flags)
{
    BEGIN(flags != 0 || to % 4 != 0 ? INVALID_VALUE : fake_may_work(stream));
    return fake_later((struct work){.what = STORE32, .to = (void *)to, .value = value}, stream);
}

/* CUstreamBatchMemOpParams, as a store of 4 bytes (operation 2) or 8 bytes (operation 5). */
struct step {
    unsigned operation;
    uint64_t at, value;
    unsigned flags;
    uint64_t alias, rest;
};

/* The same as an atomic operation (CUDA 13.1, attribute 148). what: 0 add, 5 bitwise and, 6 or. */
enum { CHANGES = 8, BITS_32 = 14, BITS_64 = 22 };
struct change {
    unsigned operation, flags;
    int what, type;
    uint64_t at, value, alias, rest;
};

static bool may_change(const struct change *c)
{
    return fake_setting("attribute148", 0) == 1 && c->flags == 0 &&
           (c->what == 0 || c->what == 5 || c->what == 6) &&
           ((c->type == BITS_32 && c->at % 4 == 0) || (c->type == BITS_64 && c->at % 8 == 0));
}

static int change(const struct change *c, void *stream)
{
    static uint64_t nowhere;
    unsigned op = c->what == 0 ? 2 : c->what == 5 ? 3 : 4; /* add, and, or of enum shmemi_amo */
    return fake_later((struct work){.what = ATOMIC,
                                    .to = (void *)c->at,
                                    .value = c->value,
                                    .until = op << 8 | (c->type == BITS_64 ? 8 : 4),
                                    .fetched = &nowhere},
                      stream);
}

int cuStreamBatchMemOp_v2(void *stream, unsigned count, struct step *steps, unsigned flags)
{
    bool bad = flags != 0 || count >= 256;
    for (unsigned i = 0; i < count && !bad; i++) {
        unsigned what = steps[i].operation;
        if (what == CHANGES)
            bad = !may_change((struct change *)&steps[i]);
        else
            bad = (what != 2 && what != 5) || steps[i].flags != 0 ||
                  steps[i].at % (what == 5 ? 8 : 4) != 0;
    }
    BEGIN(bad ? INVALID_VALUE : fake_may_work(stream));
    int rc = 0;
    for (unsigned i = 0; i < count && rc == 0; i++)
        if (steps[i].operation == CHANGES)
            rc = change((struct change *)&steps[i], stream);
        else
            rc = fake_later((struct work){.what = steps[i].operation == 5 ? STORE : STORE32,
                                          .to = (void *)steps[i].at,
                                          .value = steps[i].value},
                            stream);
    return rc;
}

int cuStreamWaitValue64_v2(void *stream, uint64_t to, uint64_t value, unsigned flags)
{
    BEGIN(flags > 2 || to % 8 != 0 ? INVALID_VALUE : fake_may_work(stream));
    return fake_later(
        (struct work){.what = WATCH, .to = (void *)to, .value = value, .until = flags}, stream);
}

int cuFlushGPUDirectRDMAWrites(int target, int scope)
{
    BEGIN(target != 0 || (scope != OWNER && scope != ALL) ? INVALID_VALUE : fake_needs_context());
    return 0;
}
#endif
