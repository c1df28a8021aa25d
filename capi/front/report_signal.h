/* report_signal.h: reports of what this PE waits for, on SIGUSR2. */
#ifndef SHMEMI_REPORT_SIGNAL_H
#define SHMEMI_REPORT_SIGNAL_H

#pragma GCC visibility push(hidden)

/* Installs the handler of SIGUSR2, unless the program handles or ignores that signal. It is called
 * when the library is loaded, and again at init, since the program may have reset the signal. */
void shmemi_report_signal_open(void);
/* Waits, at finalize, until no handler uses state.report_request_fd, which the core closes next. */
void shmemi_report_signal_close(void);

#pragma GCC visibility pop

#endif
