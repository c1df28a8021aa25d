package network

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

// filesPerNIC is the number of descriptors that an endpoint has open for a NIC. tcp opens the most:
// 16 were counted, and some more are open for a moment.
const filesPerNIC = 20

// openFiles is the number of descriptors that this process may have, and how many are left.
type openFiles struct {
	limit uint64
	left  int
}

// filesFor returns the number of descriptors that the endpoints on `nics` NICs have open.
func (nw *Network) filesFor(nics int) int { return filesPerNIC * nics * nw.JobInfo.Proxies }

// checkFiles returns an error if the process may not open enough descriptors for a network on
// `nics` NICs. Otherwise the network could not be opened, or would open and then never connect: a
// provider that cannot accept a connection does not report that, and the PE at the other side
// waits.
func (nw *Network) checkFiles(f openFiles, nics int) error {
	need := nw.filesFor(nics)
	if f.left > need {
		return nil
	}
	return &shmerr.Error{
		Op: "open", Object: fmt.Sprintf("the network of %d PEs", nw.NPEs),
		Cause:  shmerr.Causef(shmerr.ErrSystem, "it needs %d open files and one for each PE that it connects with, and RLIMIT_NOFILE of %d leaves %d", need, f.limit, f.left),
		Remedy: "raise the limit with ulimit -Hn",
	}
}

// warnOfFiles logs how many PEs the connections of a network on `nics` NICs can reach, if those are
// not all PEs of other hosts.
func (nw *Network) warnOfFiles(f openFiles, nics int) {
	left, remote := f.left-nw.filesFor(nics), nw.NPEs-len(nw.Nodes.Peers(nw.Me))
	if reach := left / (nics * nw.JobInfo.Proxies); reach < remote {
		nw.Log.Printf("fabric", config.LogWarn, "RLIMIT_NOFILE of %d leaves %d open files: a network that keeps one for each PE, as tcp, "+
			"connects with no more than %d of %d (raise the limit with ulimit -Hn)", f.limit, left, reach, remote)
	}
}

// countFiles counts the open files of this process, and those that its limit leaves.
func countFiles() (f openFiles, err error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return f, &shmerr.Error{Op: "read", Object: "the limit of open files", Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err)}
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil { // or the system does not list them
		return f, &shmerr.Error{
			Op: "count", Object: "the open files of this process", Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err),
			Remedy: shmerr.FileRemedy(err, "mount /proc"),
		}
	}
	return openFiles{l.Cur, int(min(l.Cur, 1<<30)) - (len(fds) - 1)}, nil // the folder itself is closed again
}
