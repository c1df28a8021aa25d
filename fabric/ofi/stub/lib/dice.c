/*
 * dice.c: random numbers. They depend only on the seed, the operation and the endpoint's number in
 * its process, so that a test that fails can be run again.
 */
#define _GNU_SOURCE
#include "stub.h"

/* Returns a hash of a number: a change of any bit changes about half of the bits. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 29;
    x *= UINT64_C(0xa0761d6478bd642f);
    return x ^ (x >> 32);
}

/* Returns the random number for a purpose (FOR_) of the operation `number` of an endpoint. The
 * constant is 2^64 divided by the golden ratio, as in splitmix64: its multiples are spread evenly.
 */
uint64_t dice(const struct ep *ep, uint64_t number, unsigned purpose)
{
    uint64_t x = mix(ep->domain->fabric->set.seed + UINT64_C(0x9e3779b97f4a7c15));
    x = mix(x ^ ep->ordinal);
    x = mix(x ^ number * UINT64_C(0x9e3779b97f4a7c15));
    return mix(x + purpose * UINT64_C(0x9e3779b97f4a7c15));
}

/* Draws whether a post is to return -FI_EAGAIN, and counts the post. With the setting again=K,
 * chance refuses one in K posts, and the last 64 of every 512 are refused. */
bool draw_refusal(struct ep *ep)
{
    static uint64_t count, postings;
    const uint64_t again = ep->domain->fabric->set.again;
    uint64_t n = ++ep->posted, all = __atomic_add_fetch(&postings, 1, __ATOMIC_RELAXED);
    if (again == 0 || (n / 64 % 8 != 7 && dice(ep, n, FOR_AGAIN) % again != 0))
        return false;
    uint64_t so_far = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (so_far % 256 == 1)
        note("again %llu of %llu\n", (unsigned long long)so_far, (unsigned long long)all);
    return true;
}
