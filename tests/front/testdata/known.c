/*
 * known.c: whether all PEs know of the losses, before a PE takes a lock at another home
 * (capi/front/lock_late.c). The other PEs are words here.
 */
#include "lock_late.c" /* for all_know */

#include "unreached.h"

UNREACHED(shmemi_amo32_slow)
UNREACHED(shmemi_ending_loss)
UNREACHED(shmemi_fail_lost)
UNREACHED(shmemi_mute)
UNREACHED(shmemi_net_do)
UNREACHED(shmemi_place)
UNREACHED(shmemi_read_gpu)
UNREACHED(shmemi_wait_over)
UNREACHED(shmemi_wait_step)
UNREACHED(shmemi_wake)

enum { PES = 3, LOST = 2 }; /* PE 0 is this one */

struct shmemi_state shmemi_state;

static uint64_t words[PES][PES]; /* words[pe][i]: pe knows that PE i is lost */
static int passed, failed;

static void expect(bool want, const char *when)
{
    bool got = all_know("lock");
    got == want ? passed++ : failed++;
    if (got != want)
        printf("%s: all PEs know of the loss: %d, want %d\n", when, got, want);
}

/* Begins a job, in which a PE is lost and this PE knows of it. */
static void begin_job(void)
{
    memset(words, 0, sizeof words);
    shmemi_state.n_lost = 0;
    shmemi_lock_late_open();
    shmemi_state.n_lost = 1;
}

int main(void)
{
    static char *bases[PES] = {(char *)words[0], (char *)words[1], (char *)words[2]};
    static uint8_t lost[PES] = {[LOST] = 1};
    static int32_t losses[PES] = {LOST};
    shmemi_state.n_pes = PES;
    shmemi_state.peer_base = bases;
    shmemi_state.lost = lost;
    shmemi_state.losses = losses;
    for (int job = 1; job <= 2; job++) {
        begin_job();
        expect(false,
               job == 1 ? "first job, PE 1 has not heard" : "second job, PE 1 has not heard");
        words[1][LOST] = 1;
        expect(true, job == 1 ? "first job" : "second job");
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
