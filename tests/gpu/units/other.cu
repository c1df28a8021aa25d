/*
 * other.cu: the second translation unit of the program.
 */
#include "units.h"

int other_start(struct unit_words *to, int *from, int number)
{
    return unit_run(to, from, number);
}
