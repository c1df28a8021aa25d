/*
 * caller.c: the calls between the Python package and the library.
 *
 * The package raises exceptions where C returns a status, so it reads the causes; and the library's
 * reports say where the Python program made the call. The library requests that place when it
 * reports; a call itself pays nothing for it.
 *
 * The reply needs the interpreter's lock, and the thread that hangs may hold that lock. So a
 * separate thread sends the request, and the report waits for the reply only a short time.
 */
#include "caller.h"

#include "base.h"
#include "mailbox.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define REPLY_TIMEOUT_NS 200000000 /* less than a second, as await_reply needs it */

/* Writes where in Python a thread is, "shmem.zeros at train.py:12"; a function of the package. */
typedef void (*shmemi_namer)(uint64_t thread, char *text, size_t size);

/* python/shmem calls these three. */
#pragma GCC visibility push(default)
void shmemi_set_caller(shmemi_namer name);
int shmemi_heap_use(uint64_t use[3]);
int shmemi_longest_short_message(void);
#pragma GCC visibility pop

static shmemi_namer namer; /* NULL: the program is not in Python, or the interpreter has ended */

/* Sets the function that says where in Python a thread is. The package sets NULL when the
 * interpreter ends, which can reply to no request any more. */
void shmemi_set_caller(shmemi_namer name)
{
    shmemi_publish(&namer, name);
}

/* Reports whether Python calls the library: it raises an exception for each failure that C returns.
 */
bool shmemi_host_language_raises(void)
{
    return shmemi_observe(&namer) != NULL;
}

/* A request to look up where the Python program made a call. The thread that looks it up and the
 * one that reports share it; the later of the two frees it. */
struct lookup {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool replied, left; /* text is written; the reporting thread no longer waits */
    shmemi_namer name;
    uint64_t thread;              /* pthread_self of the thread that reports */
    char text[SHMEMI_CALLER - 2]; /* await_reply appends ": " */
};

/* Function of the thread that looks up where the Python program made the call: it waits for the
 * interpreter's lock if it must. */
static void *look_up(void *arg)
{
    struct lookup *q = arg;
    q->name(q->thread, q->text, sizeof q->text);
    pthread_mutex_lock(&q->mutex);
    bool left = q->left;
    q->replied = true;
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->mutex);
    if (left)
        free(q);
    return NULL;
}

/* Starts a thread that looks up where the Python program made the call. The thread blocks all
 * signals, so that no handler of the program runs in it. It is detached, because nobody waits for
 * its end. Returns false if the thread cannot be created. */
static bool look_up_in_thread(struct lookup *q)
{
    pthread_condattr_t clock;
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t all, before;
    pthread_mutex_init(&q->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&q->changed, &clock);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool started = pthread_create(&thread, &detached, look_up, q) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    pthread_condattr_destroy(&clock);
    return started;
}

/* Waits until the thread in look_up has found where the Python program made the call, as in
 * "shmem.zeros at train.py:12", and writes that and ": " to text. Writes nothing if this takes
 * longer than REPLY_TIMEOUT_NS; then the thread in look_up frees q. */
static void await_reply(struct lookup *q, char *text)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += REPLY_TIMEOUT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int rc = 0;
    pthread_mutex_lock(&q->mutex);
    while (!q->replied && rc == 0)
        rc = pthread_cond_timedwait(&q->changed, &q->mutex, &until);
    bool replied = q->replied;
    q->left = true;
    size_t n = replied ? strnlen(q->text, sizeof q->text - 1) : 0;
    if (n > 0) {
        memcpy(text, q->text, n);
        memcpy(text + n, ": ", 3);
    }
    pthread_mutex_unlock(&q->mutex);
    if (replied)
        free(q);
}

/* Writes to text where the Python program made this thread's call, as in "shmem.zeros at
 * train.py:12: ", and returns text, which is "" if no Python program made it or if the interpreter
 * does not reply in time. */
const char *shmemi_caller(char text[SHMEMI_CALLER])
{
    shmemi_namer name = shmemi_observe(&namer);
    text[0] = 0;
    struct lookup *q = name ? calloc(1, sizeof *q) : NULL;
    if (q == NULL)
        return text;
    q->name = name;
    q->thread = (uint64_t)pthread_self();
    if (look_up_in_thread(q))
        await_reply(q, text);
    else
        free(q);
    return text;
}

/* For the Python package: stores in `use` the size of the user heap, its free bytes, and the size
 * of its largest free block. Returns 0, or -1 if there is no heap. */
int shmemi_heap_use(uint64_t use[3])
{
    const struct shmemi_statuspage *l = shmemi_state.live;
    if (shmemi_state.n_pes == 0)
        return -1;
    use[0] = shmemi_read_once(&l->heap.size);
    use[1] = use[0] - shmemi_read_once(&l->heap.used);
    use[2] = shmemi_read_once(&l->heap.largest);
    return 0;
}

/* For the Python package: returns the bytes of the longest message that is sent whole. A longer one
 * may be under way after shmemx_send_test has returned, and is then read where it is. */
int shmemi_longest_short_message(void)
{
    return (int)shmemi_mail_short(shmemi_state.mailbox_size);
}
