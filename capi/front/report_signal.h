/* ask.h: reports when the signal USR2 comes. */
#ifndef SHMEMI_ASK_H
#define SHMEMI_ASK_H

#pragma GCC visibility push(hidden)

/* At init, for a program that has reset the signal since the library was loaded; and at finalize,
 * before the core closes state.ask_fd. */
void shmemi_ask_open(void);
void shmemi_ask_close(void);

#pragma GCC visibility pop

#endif
