/* symbol.h: names of the program's globals and statics, for reports. */
#ifndef SHMEMI_SYMBOL_H
#define SHMEMI_SYMBOL_H

#include "base.h"

#pragma GCC visibility push(hidden)

#define SHMEMI_SYMBOL 104 /* bytes of such a name, with its final 0; a longer one is cut */

/* Writes the name of the object at an address, as "name" or "name+0x10". False: the program's file
 * has no name for it, and text is "". */
bool shmemi_symbol(char text[SHMEMI_SYMBOL], const void *addr);

#pragma GCC visibility pop

#endif
