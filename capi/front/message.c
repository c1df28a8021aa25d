/*
 * message.c: counts in inboxes.
 */
#include "coll.h"
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t *sent; /* to each PE */
static uint64_t *seen; /* of each PE's messages */

int shmemi_messages_open(void)
{
    sent = calloc(shmemi_state.n_pes, sizeof *sent);
    seen = calloc(shmemi_state.n_pes, sizeof *seen);
    if (sent == NULL || seen == NULL) {
        shmemi_messages_close();
        return -1;
    }
    return 0;
}

void shmemi_messages_close(void)
{
    free(sent);
    free(seen);
    sent = seen = NULL;
}

/* My word in the inbox of a PE, relative to its user heap. */
static int64_t inbox_word(void)
{
    return (int64_t)sizeof(uint64_t) * shmemi_state.my_pe - (int64_t)shmemi_state.inbox_offset;
}

void shmemi_message(int pe, const char *call)
{
    if (SHMEMI_UNLIKELY(!shmemi_collective_holds()))
        return;
    char *base = shmemi_state.peer_base[pe];
    uint64_t count = ++sent[pe];
    if (base == NULL) {
        if (shmemi_marked(&shmemi_state.net_unfenced))
            shmemi_fence_slow(call);
        shmemi_net_set(pe, inbox_word(), count, call);
        return;
    }
    __atomic_store_n((uint64_t *)(base + inbox_word()), count, __ATOMIC_RELEASE);
    shmemi_notify(pe);
}

void shmemi_message_at(int pe, int64_t offset, const void *source, size_t n, const char *call)
{
    if (SHMEMI_UNLIKELY(!shmemi_collective_holds()))
        return;
    char *control = shmemi_state.peer_base[pe];
    char *base = offset < 0 ? control : shmemi_reachable(pe);
    if (base != NULL && control != NULL) {
        shmemi_move(base + offset, source, n, call);
        shmemi_message(pe, call);
        return;
    }
    if (control == NULL) {
        shmemi_net_set_with(pe, offset, source, n, inbox_word(), ++sent[pe], call);
        return;
    }
    /* A heap in GPU memory that this process cannot map. All counts go to that PE
     * by one way, since a count that comes late would undo a later one. */
    shmemi_net_put(pe, offset, source, n, false, call);
    shmemi_quiet_slow(call);
    shmemi_message(pe, call);
}

void shmemi_message_data(int pe, void *dest, const void *source, size_t n, const char *call)
{
    shmemi_message_at(pe, (int64_t)((uintptr_t)dest - shmemi_state.heap_base), source, n, call);
}

static void describe_await(const void *subject, char *text, size_t size)
{
    int pe = *(const int *)subject;
    snprintf(text, size, "for message %llu of PE %d, has %llu", (unsigned long long)seen[pe], pe,
             (unsigned long long)shmemi_state.inbox[pe]);
}

void shmemi_await(int pe, const char *call)
{
    const uint64_t *count = &shmemi_state.inbox[pe];
    uint64_t want = ++seen[pe];
    SHMEMI_WAIT_FOR(shmemi_my_ctl(), call, describe_await, &pe,
                    __atomic_load_n(count, __ATOMIC_ACQUIRE) >= want, .whom = SHMEMI_MEMBERS,
                    .pe = pe, .about = true);
}
