/*
 * receive.c: receives at the moment at which a last message arrives and a PE is lost
 * (capi/front/receive.c).
 */
#define _GNU_SOURCE
#include "failure.h"
#include "receive.h"
#include "send.h"
#include "team.h"
#include "wait.h"

#include "interleave.h"
#include "unreached.h"

#include <shmemx.h>
#include <string.h>

UNREACHED(shmemi_abort)
UNREACHED(shmemi_refuse_uninitialised)
UNREACHED(shmemi_mail_store)
UNREACHED(shmemi_move_gpu)
UNREACHED(shmemi_net_do)
UNREACHED(shmemi_netcall_refuse)
UNREACHED(shmemi_outside_offset)
UNREACHED(shmemi_quiet_slow)
UNREACHED(shmemi_team_rank)
UNREACHED(shmemi_wake)

/* So many PEs that the words of active senders are three. */
enum { RING = 64, PES = 130, LIVING = 1, DEAD = 2 };

struct shmemi_state shmemi_state;
struct shmemi_team shmemi_world;
_Thread_local const char *shmemi_netcall;

/* The internal area of this PE: the words of active senders, the mailboxes, the control page. */
static _Alignas(4096) char area[16384];
static uint8_t lost[PES];
static int32_t losses[PES];

static int source, sender; /* whose message is received, and who sends it; -1: nobody */
static bool happened;
static int result, value, from;

static void fate(int pe, char *text, size_t size)
{
    (void)pe;
    snprintf(text, size, "has ended");
}

/* The message arrives, and PE DEAD is lost. */
static void happen(void)
{
    if (happened)
        return;
    happened = true;
    if (sender >= 0) {
        char *box = shmemi_mail_here(shmemi_mailbox(sender));
        struct shmemi_mail *m = shmemi_mail_at(box, 0, RING);
        m->tag = 5;
        memcpy(m->bytes, &sender, sizeof sender);
        m->mark = shmemi_mail_mark(SHMEMI_MAIL_WHOLE, sizeof sender);
        *(uint64_t *)shmemi_mail_here(-(int64_t)shmemi_state.active_offset) |= 1u << sender;
    }
    lost[DEAD] = 1;
    losses[0] = DEAD;
    shmemi_state.n_lost = 1;
}

bool shmemi_wait_step(struct shmemi_waiter *w)
{
    happen();
    int pe = shmemi_ending_loss(w->whom);
    if (pe < 0)
        return true;
    shmemi_fail_lost(pe, w->call);
    return false;
}

void shmemi_wait_over(struct shmemi_waiter *w)
{
    (void)w;
}

void shmemi_mail_apply(int pe, int64_t offset, enum shmemi_amo op, uint64_t value, const char *call)
{
    (void)pe, (void)offset, (void)op, (void)value, (void)call; /* returns credit */
}

void shmemi_check_pe(int pe, const char *call)
{
    (void)pe, (void)call;
}

void shmemi_use_program_names(char *text, size_t size)
{
    (void)text, (void)size;
}

static void begin(void)
{
    static char *bases[PES];
    static const struct shmemi_core core = {.fate = fate};
    shmemi_receive_close();
    memset(area, 0, sizeof area);
    bases[0] = area + sizeof area;
    shmemi_state = (struct shmemi_state){.n_pes = PES,
                                         .core = &core,
                                         .peer_base = bases,
                                         .survives = 1,
                                         .lost = lost,
                                         .losses = losses,
                                         .mailbox_size = RING,
                                         .mailboxes_offset = sizeof area - 64,
                                         .active_offset = sizeof area};
    lost[DEAD] = 0;
    happened = false;
    shmemi_failure_open();
    shmemi_receive_open();
}

static void receive(void)
{
    from = source;
    value = -1;
    result = shmemi_recv(&value, sizeof value, NULL, &from, NULL, "receive");
}

static void test(void)
{
    from = source;
    value = -1;
    result = shmemi_recv_test(&value, sizeof value, NULL, &from, NULL, "test");
}

/* The next receive has found no message, and has failed because of the loss. */
static void expect_loss(void)
{
    int error = shmemi_last_error("");
    EXPECT(result == -1 && error == SHMEMX_ERROR_PE_LOST && shmemi_last_error_pe("") == DEAD,
           "the result without a message is %d, the error %d", result, error);
}

/* The call has the message, whatever came first, and the loss ends the next one. */
static void has_message(void)
{
    EXPECT(result == 0 && value == sender && from == sender, "message of PE %d, from %d: %d, %s",
           sender, source, result, shmemi_last_error_text(""));
    receive();
    expect_loss();
}

/* The call that does not wait has the message, or has returned before it came. In that case the
 * next one has it, else the loss. */
static void has_message_in_time(void)
{
    bool had = result == 1 && value == sender;
    EXPECT(result == 0 || had, "message of PE %d, from %d: %d, %s", sender, source, result,
           shmemi_last_error_text(""));
    test();
    if (had)
        expect_loss();
    else
        EXPECT(result == 1 && value == sender, "the next test: %d", result);
}

int main(void)
{
    shared_words(area, sizeof area);
    sender = LIVING, source = SHMEMX_ANY_SOURCE;
    interleave_all(begin, receive, happen, has_message);
    interleave_all(begin, test, happen, has_message_in_time);
    sender = DEAD;
    interleave_all(begin, receive, happen, has_message);
    source = DEAD;
    interleave_all(begin, receive, happen, has_message);
    sender = -1, source = SHMEMX_ANY_SOURCE;
    interleave_all(begin, receive, happen, expect_loss);
    return interleave_result();
}
