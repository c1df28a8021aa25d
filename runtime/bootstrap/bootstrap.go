// Package bootstrap brings the PEs of a job together before any of them can
// reach another's memory. It exchanges bytes between ranks; hosts, segments and
// fabrics are the concern of other packages.
//
// One goroutine at a time may use a bootstrap, except that any goroutine may call
// Abort, Exit, Over and Losses while another waits in a collective step.
package bootstrap

import (
	"fmt"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/shmerr"
)

// Bootstrap connects the PEs of one job.
type Bootstrap interface {
	// Name returns the bootstrap's name in the banner: "launcher", "singleton", "uid".
	Name() string
	// Rank returns this PE's number, and Size how many PEs the job has.
	Rank() libshmem.PE
	Size() int
	// Allgather sends every PE's bytes to every PE, and returns those of all in order of rank. It
	// is collective. If some PEs do not call it within the timeout, it returns a *MissingError that
	// names them; if a PE has died or left, a *PeerError.
	Allgather(mine []byte) ([][]byte, error)
	// Barrier returns when every PE has called it. Its errors are those of Allgather.
	Barrier() error
	// LeaveBarrier performs the barrier of PEs that leave the job. If the job continues without
	// failed PEs, LeaveBarrier does not wait for those.
	LeaveBarrier() error
	// Secret returns a secret that is known to the PEs of the job and to no other process.
	Secret() *secret.Secret
	// Abort requests the launcher to end the job with the status and the reason. It returns, and
	// the caller then ends its own process.
	Abort(status int, reason string)
	// Exit requests the launcher to end every PE and to use the status, 0 included, as the job's.
	// It returns, and the caller then ends its own process.
	Exit(status int)
	// Over reports whether the job is being ended, because a PE failed or requested that, or
	// because the launcher is gone. It does not wait.
	Over() bool
	// Losses returns the PEs that have ended before they left the job, each once. It does not wait.
	// It returns none to a PE that does not continue without lost PEs (SHMEM_ON_FAILURE).
	Losses() []Loss
	// NewsFD returns a descriptor that becomes readable when Losses or Over may return something
	// new, or -1 if they never will.
	NewsFD() int
	// Close leaves the job in good order: this PE's exit ends no other PE from now on.
	Close() error
}

// Loss is a PE that has ended, and how.
type Loss struct {
	PE     libshmem.PE
	Reason string // how it has ended; continues a sentence that begins with the PE
	// Ends: the PE has requested the end of the job, with this Status.
	Ends   bool
	Status int
}

// Inquirer is a Bootstrap that reports, on request, which PEs have left the job or have ended, and
// how. Losses does not return a PE that has exited with status 0 inside the job, that is, after its
// init and without finalize, because that concerns only PEs that wait for this one. Any goroutine
// may call the methods.
type Inquirer interface {
	// Inquire requests from the launcher how PEs have ended or left, for later calls of Outcome. It
	// does not wait.
	Inquire(pes []libshmem.PE)
	// Outcome returns how a PE has ended or left, as far as is known, as the rest of a sentence that
	// begins with the PE; "" if it has not left.
	Outcome(pe libshmem.PE) string
	// Absent reports whether a PE is known to have exited with status 0 inside the job.
	Absent(pe libshmem.PE) bool
}

// Ender is a Bootstrap that knows whether the launcher ends all PEs of a job when one fails. With
// other bootstraps the PEs do so themselves.
type Ender interface{ EndsJob() bool }

// Failer is a Bootstrap that reports to the other PEs and the launcher that the initialisation of
// this PE has failed. Fail is called before Close.
type Failer interface{ Fail() }

// Launched is a Bootstrap of a launcher that ends its PEs when it ends. If the launcher is killed,
// no other process ends them, so the PEs then end by themselves. NewsFD of such a Bootstrap becomes
// readable only when the launcher has hung up.
type Launched interface {
	// Launcher names the process at the other side of the connection.
	Launcher() string
}

// MissingError names the PEs that did not join a collective step within the timeout.
type MissingError struct {
	Step    string        // the step that the other PEs were to join, for example "allgather 3"
	Missing []libshmem.PE // ascending
	Waited  time.Duration // how long the other PEs waited
}

// Error names the missing PEs and the setting that would wait longer.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: %s did not come within %v (find out why they are late, or raise SHMEM_BOOTSTRAP_TIMEOUT)",
		e.Step, shmerr.PEs(e.Missing), e.Waited)
}

// PeerError reports that a PE can never join a step, because it ended or has finalized.
type PeerError struct {
	Step   string // the step, for example "allgather 3"
	PE     libshmem.PE
	Reason string // how the PE has ended, for example "was killed by signal 11 (segmentation fault)"
}

// Error names the PE and how it has ended.
func (e *PeerError) Error() string {
	return fmt.Sprintf("%s: PE %d %s and cannot join", e.Step, e.PE, e.Reason)
}
