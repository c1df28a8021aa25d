/*
 * single.c: a job of one PE.
 */
#include "single.h"

int main(void)
{
    int bad = single();
    puts(bad ? "wrong value" : "done");
    return bad;
}
