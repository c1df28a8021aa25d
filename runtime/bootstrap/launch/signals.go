package launch

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// ending lists the signals that end the job. passed lists the signals that shmemrun passes on to
// the PEs, which know their meaning; SIGUSR2, on which the library prints a report, goes only to
// processes with a handler.
var (
	ending = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}
	passed = []os.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT}
)

// listen makes shmemrun receive signals in sigs until stop is called. It receives SIGINT even if
// that is ignored, as in the background of a shell script: kill -INT must end the job there, too.
// An ignored SIGHUP stays ignored, for nohup. It receives SIGPIPE, so that shmemrun can clean up
// when the reader of its output has gone.
func listen() (sigs chan os.Signal, stop func()) {
	sigs = make(chan os.Signal, 64)
	for _, list := range [][]os.Signal{ending, passed} {
		for _, s := range list {
			if s != unix.SIGHUP || !signal.Ignored(s) {
				signal.Notify(sigs, s)
			}
		}
	}
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, unix.SIGPIPE)
	return sigs, func() {
		signal.Stop(sigs)
		signal.Stop(pipes)
	}
}

// isEnding reports whether a signal ends the job.
func isEnding(s os.Signal) bool {
	for _, e := range ending {
		if s == e {
			return true
		}
	}
	return false
}

// number returns the number of a signal.
func number(s os.Signal) unix.Signal {
	n, _ := s.(syscall.Signal)
	return n
}
