/*
 * control.c: shmem_pcontrol, the one function with variable arguments.
 */
#include "preload.h"

#include <stdarg.h>

/*
 * Defines shmem_pcontrol of the shim. The arguments after level are for tools, and libraries ignore
 * them. The five that fit in integer registers are passed on. Reading more than the program has
 * passed is harmless on x86-64, where va_arg reads copies of these registers.
 */
PRELOAD_PUBLIC void shmem_pcontrol(int level, ...)
{
    struct preload_frame f;
    va_list list;
    va_start(list, level);
    uintptr_t further[5];
    for (int i = 0; i < 5; i++)
        further[i] = va_arg(list, uintptr_t);
    va_end(list);
    f.arg[0] = (uintptr_t)(intptr_t)level;
    if (preload_begin(&f, PRELOAD_shmem_pcontrol, __builtin_return_address(0)))
        ((void (*)(int, ...))f.real)((int)f.arg[0], further[0], further[1], further[2], further[3],
                                     further[4]);
    preload_end(&f);
}
