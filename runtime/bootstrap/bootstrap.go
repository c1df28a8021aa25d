// Package bootstrap brings the PEs of a job together before any of them can
// reach another's memory. It knows bytes and ranks; it does not know hosts,
// segments or fabrics.
//
// A bootstrap is used by one goroutine at a time.
package bootstrap

import "time"

// Bootstrap connects the PEs of one job.
type Bootstrap interface {
	// Name is what the banner calls it: "launcher", "singleton".
	Name() string
	// Rank is this PE's number, Size the number of PEs.
	Rank() int
	Size() int
	// Allgather gives every PE's bytes to every PE, in order of rank. It is
	// collective. When PEs do not come within the timeout it returns a
	// *MissingError that names them.
	Allgather(mine []byte) ([][]byte, error)
	// Barrier returns when every PE has called it; errors as Allgather.
	Barrier() error
	// Abort asks the launcher to end the job with the status, naming the
	// reason. It returns; the caller then ends its own process.
	Abort(status int, reason string)
	// Close says that this PE leaves in good order: its exit from now on is no
	// failure of the job.
	Close() error
}

// MissingError names the PEs that did not come.
type MissingError struct {
	Step    string        // what the others were to join, for example "allgather 3"
	Missing []int         // ascending
	Waited  time.Duration // how long
}
