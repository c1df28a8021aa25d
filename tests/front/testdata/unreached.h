/* unreached.h: functions that a unit under test calls in other cases than those of the test. */
#ifndef UNREACHED_H
#define UNREACHED_H

#include <stdlib.h>

__attribute__((used)) void unreached(void)
{
    abort();
}

/* The name becomes one of unreached: no header's declaration has to be repeated. */
#define UNREACHED(name) __asm__(".globl " #name "\n.hidden " #name "\n.set " #name ", unreached\n");

#endif
