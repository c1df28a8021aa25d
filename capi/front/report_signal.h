/* report_signal.h: reports of what this PE waits for, on SIGUSR2. */
#ifndef SHMEMI_REPORT_SIGNAL_H
#define SHMEMI_REPORT_SIGNAL_H

#pragma GCC visibility push(hidden)

/* open: at init, since the program may have reset the signal since the library was loaded. close:
 * at finalize, before the core closes state.report_request_fd. */
void shmemi_report_signal_open(void);
void shmemi_report_signal_close(void);

#pragma GCC visibility pop

#endif
