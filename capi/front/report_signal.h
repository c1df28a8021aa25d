/* report_signal.h: reports when the signal USR2 comes. */
#ifndef SHMEMI_REPORT_SIGNAL_H
#define SHMEMI_REPORT_SIGNAL_H

#pragma GCC visibility push(hidden)

/* At init, for a program that has reset the signal since the library was loaded; and at finalize,
 * before the core closes state.report_request_fd. */
void shmemi_report_signal_open(void);
void shmemi_report_signal_close(void);

#pragma GCC visibility pop

#endif
