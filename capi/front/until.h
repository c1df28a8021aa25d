/* until.h: wait_until and test of one element, and of a signal. */
#ifndef SHMEMI_UNTIL_H
#define SHMEMI_UNTIL_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* A wait and a test for each width and signedness of the word. A wait returns the value for which
 * the comparison held: the word may have changed since. A wait that ended because of a loss or a
 * time limit returns the value that it read last. A test returns 1 if the comparison holds, else 0.
 */
int16_t shmemi_wait_i16(const void *ivar, int cmp, int16_t value, const char *call);
uint16_t shmemi_wait_u16(const void *ivar, int cmp, uint16_t value, const char *call);
int32_t shmemi_wait_i32(const void *ivar, int cmp, int32_t value, const char *call);
uint32_t shmemi_wait_u32(const void *ivar, int cmp, uint32_t value, const char *call);
int64_t shmemi_wait_i64(const void *ivar, int cmp, int64_t value, const char *call);
uint64_t shmemi_wait_u64(const void *ivar, int cmp, uint64_t value, const char *call);
int shmemi_test_i16(const void *ivar, int cmp, int16_t value, const char *call);
int shmemi_test_u16(const void *ivar, int cmp, uint16_t value, const char *call);
int shmemi_test_i32(const void *ivar, int cmp, int32_t value, const char *call);
int shmemi_test_u32(const void *ivar, int cmp, uint32_t value, const char *call);
int shmemi_test_i64(const void *ivar, int cmp, int64_t value, const char *call);
int shmemi_test_u64(const void *ivar, int cmp, uint64_t value, const char *call);

/* Each implements the shmem call of its name. */
uint64_t shmemi_signal_fetch(const uint64_t *sig_addr, const char *call);
uint64_t shmemi_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t value, const char *call);

#pragma GCC visibility pop

#endif
