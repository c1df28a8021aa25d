/*
 * steps.c: plans the steps in which the PEs of a node exchange lines.
 *
 * The groups are small because a cache line takes some .2 us from a PE to one that waits for it
 * (Xeon, 32 processors), and each further line of a step .1 us. A counter to which all PEs add took
 * 1.4 us with 16 PEs and 2.7 with 32. A tree, up and then down, took 1.4 and 2.1, because it has
 * twice as many steps.
 */
#include "steps.h"

/* Plans the steps of an exchange of m PEs. In each step the PEs form groups of one size, and the
 * product of the sizes is m. For a PE that takes no part (me >= m) the steps mean nothing. Returns
 * false if m has a prime factor above 7, or if the plan needs more than SHMEMI_MAX_STEPS steps or
 * more than SHMEMI_LINES cache lines. */
static bool plan_groups(uint32_t m, uint32_t me, struct shmemi_steps *steps)
{
    static const uint8_t groups[] = {4, 2, 3, 5, 7};
    uint32_t line = SHMEMI_LINES_OF_STEPS, stride = 1;
    *steps = (struct shmemi_steps){.whole = m};
    for (size_t i = 0; i < sizeof groups; i++) {
        uint8_t size = groups[i];
        for (; m % size == 0 && steps->n < SHMEMI_MAX_STEPS; m /= size) {
            uint32_t digit = me / stride % size;
            steps->step[steps->n++] = (struct shmemi_step){.first = me - digit * stride,
                                                           .stride = stride,
                                                           .size = size,
                                                           .digit = (uint8_t)digit,
                                                           .line = (uint8_t)line};
            line += size - 1u;
            stride *= size;
        }
    }
    return m == 1 && line <= SHMEMI_LINES;
}

/* Returns the steps of PE `me` for the largest number of PEs, at most n, that can be divided into
 * groups; powers of two up to 2^14 always can. */
struct shmemi_steps shmemi_plan_steps(uint32_t n, uint32_t me)
{
    struct shmemi_steps steps;
    uint32_t m = n > 1 ? n : 1;
    while (!plan_groups(m, me, &steps))
        m--;
    return steps;
}
