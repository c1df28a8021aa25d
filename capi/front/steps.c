/*
 * steps.c: the steps in which the PEs of a node meet.
 *
 * Why small groups: a line takes some .2 us from a PE to one that waits for it (Xeon, 32
 * processors), and each further line of a step .1 us. A counter to which all add took 1.4 us with
 * 16 PEs and 2.7 with 32, a tree up and down 1.4 and 2.1, for its steps are twice as many.
 */
#include "steps.h"

/* Divides m into groups. Returns false if m has other factors, or the lines do not suffice. */
static bool divide(uint32_t m, struct shmemi_steps *steps)
{
    static const uint8_t groups[] = {4, 2, 3, 5, 7};
    uint32_t lines = SHMEMI_LINES_OF_STEPS;
    *steps = (struct shmemi_steps){.whole = m};
    for (size_t i = 0; i < sizeof groups; i++) {
        for (; m % groups[i] == 0 && steps->n < SHMEMI_MOST_STEPS; m /= groups[i]) {
            steps->group[steps->n++] = groups[i];
            lines += groups[i] - 1u;
        }
    }
    return m == 1 && lines <= SHMEMI_LINES;
}

/* Powers of two up to 2^14 can be divided. */
struct shmemi_steps shmemi_plan_steps(uint32_t n)
{
    struct shmemi_steps steps;
    uint32_t m = n > 1 ? n : 1;
    while (!divide(m, &steps))
        m--;
    return steps;
}
