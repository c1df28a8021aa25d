/*
 * twosided.c: what senders and receivers of two-sided messages share.
 */
#include "twosided.h"

#include "error.h"
#include "failure.h"
#include "notify.h"
#include "remote.h"
#include "wait.h"

void shmemi_mail_check(int pe, const char *call)
{
    if (SHMEMI_UNLIKELY(shmemi_state.n_pes == 0))
        shmemi_refuse_uninitialised(call);
    if (SHMEMI_UNLIKELY((uint32_t)pe >= shmemi_state.n_pes))
        shmemi_abort(call, "use 0 to shmem_n_pes() - 1", "PE %d does not exist, there are %u", pe,
                     shmemi_state.n_pes);
}

bool shmemi_mail_await(const struct shmemi_mail_wait *w)
{
    bool any = w->pe == SHMEMI_MAIL_ANY, is = w->ready(w->subject), due = false;
    if (is)
        return true;
    do {
        SHMEMI_WAIT_FOR(shmemi_my_ctl(), w->call, w->describe, w->subject,
                        (is = w->ready(w->subject)) || (due = shmemi_send_due()) ||
                            (!any && shmemi_is_lost(w->pe)),
                        .whom = any ? SHMEMI_ANYBODY : SHMEMI_NOBODY, .pe = w->pe, .about = !any,
                        .limited = w->limited);
        if (!is && due)
            shmemi_send_help(w->call);
    } while (!is && due);
    return is;
}

void shmemi_mail_store(int pe, int64_t offset, const void *source, size_t n, int64_t mark_at,
                       uint64_t mark, const char *call)
{
    char *base = shmemi_state.peer_base[pe];
    if (base == NULL) {
        shmemi_net_set_with(pe, offset, source, n, mark_at, mark, call);
        return;
    }
    memcpy(base + offset, source, n);
    __atomic_store_n((uint64_t *)(void *)(base + mark_at), mark, __ATOMIC_RELEASE);
    shmemi_notify(pe);
}

void shmemi_mail_apply(int pe, int64_t offset, enum shmemi_amo op, uint64_t value, const char *call)
{
    char *base = shmemi_state.peer_base[pe];
    if (base == NULL) {
        shmemi_net_apply(pe, offset, op, value, call);
        return;
    }
    (void)shmemi_amo_at64(op, (uint64_t *)(void *)(base + offset), value, 0);
    shmemi_notify(pe);
}

bool shmemi_mail_open(void)
{
    return shmemi_send_open() && shmemi_receive_open();
}

void shmemi_mail_close(void)
{
    shmemi_send_close();
    shmemi_receive_close();
}
