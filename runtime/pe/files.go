package pe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

// filesPerNIC is how many descriptors an endpoint keeps on a NIC: over tcp, which takes the
// most, 16 were counted, and some are open for a moment.
const filesPerNIC = 20

// checkFiles refuses a network of so many NICs that could not be opened, or that would be and
// then never connect: a provider that can accept no connection tells nobody, and the PE at
// the other end waits.
func (j *Job) checkFiles(nics int) error {
	limit, left, err := openFiles()
	need := filesPerNIC * nics * j.proxies
	if err != nil || left > need {
		return err
	}
	return &shmerr.Error{
		Op: "open", Object: fmt.Sprintf("the network of %d PEs", j.NPEs),
		Cause:  shmerr.Causef(shmerr.ErrSystem, "it needs %d open files and one for each PE that it connects with, and RLIMIT_NOFILE of %d leaves %d", need, limit, left),
		Remedy: "raise the limit by ulimit -Hn",
	}
}

// warnOfFiles says of a network that is open how far its connections may go.
func (j *Job) warnOfFiles() error {
	limit, left, err := openFiles()
	if remote := j.remote(); err == nil && left < remote {
		j.log.Printf("fabric", config.LogWarn, "RLIMIT_NOFILE of %d leaves %d open files: a network that keeps one for each PE, as tcp, "+
			"connects with no more than so many of %d (raise the limit by ulimit -Hn)", limit, left, remote)
	}
	return err
}

// remote is how many PEs are on other hosts.
func (j *Job) remote() int { return j.NPEs - len(j.Nodes.Peers(j.Me)) }

// openFiles is how many descriptors this process may have, and how many it has not.
func openFiles() (limit uint64, left int, err error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0, 0, &shmerr.Error{Op: "read", Object: "the limit of open files", Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err)}
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil { // or nobody says how many there are
		return l.Cur, 0, &shmerr.Error{
			Op: "count", Object: "the open files of this process", Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err),
			Remedy: fmt.Sprintf("raise the limit of %d by ulimit -Hn, or mount /proc", l.Cur),
		}
	}
	return l.Cur, int(min(l.Cur, 1<<30)) - (len(fds) - 1), nil // the folder itself is open no more
}
