/*
 * mail.c: writes words and records of two-sided messages to the memory of other PEs.
 */
#include "mail.h"

#include "notify.h"
#include "remote.h"

/* Writes a record to the internal area of a PE, and then its mark: by stores if
 * this process has mapped that area, else by one message of the engine. */
void shmemi_mail_store(int pe, int64_t offset, const void *source, size_t n, int64_t mark_at,
                       uint64_t mark, const char *call)
{
    char *base = shmemi_state.peer_base[pe];
    if (base == NULL) {
        shmemi_net_message(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_PUT_SIGNAL,
                                                           .pe = pe,
                                                           .offset = offset,
                                                           .nbytes = n,
                                                           .source = source,
                                                           .signal_offset = mark_at,
                                                           .operand = mark,
                                                           .op = SHMEMI_AMO_SET,
                                                           .call = call});
        return;
    }
    memcpy(base + offset, source, n);
    shmemi_publish((uint64_t *)(void *)(base + mark_at), mark);
    shmemi_notify(pe);
}

/* Applies an atomic operation without result to a word of PE pe: by an instruction if this process
 * has mapped the PE's internal area, else by a message of the engine. */
void shmemi_mail_apply(int pe, int64_t offset, enum shmemi_amo op, uint64_t value, const char *call)
{
    char *base = shmemi_state.peer_base[pe];
    if (base == NULL) {
        shmemi_net_message(&(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_AMO,
                                                           .pe = pe,
                                                           .offset = offset,
                                                           .op = (int)op,
                                                           .width = 8,
                                                           .operand = value,
                                                           .call = call});
        return;
    }
    (void)shmemi_amo_at64(op, (uint64_t *)(void *)(base + offset), value, 0);
    shmemi_notify(pe);
}
