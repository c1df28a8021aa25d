package wait

import (
	"time"

	"golang.org/x/sys/unix"
)

// Sleep blocks the thread for d by nanosleep. time.Sleep would start the timers of the Go scheduler
// and wake another thread for each pause.
func Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // its only error is a signal, which shortens the sleep
}

// Yield gives the processor to another thread that waits for it (sched_yield).
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
