package wait

import (
	"time"

	"golang.org/x/sys/unix"
)

// Sleep blocks the thread for d by nanosleep. time.Sleep would start the timers of the Go scheduler
// and wake another thread for each nap.
func Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal only shortens the nap
}

// Yield gives the processor to another thread that waits for it.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
