package shmerr

import "errors"

// Status is the code of an error that C gets. The values are part of the binary interface between
// libshmem.so and libshmem_core.so: they are never renumbered, and new ones come at the end.
type Status int32

// The status codes, each with the sentinel of the same name below.
const (
	OK            Status = 0
	NotInit       Status = 1
	Finalised     Status = 2
	BadPE         Status = 3
	BadAddress    Status = 4
	Range         Status = 5
	NoMemory      Status = 6
	Unsupported   Status = 7
	Timeout       Status = 8
	Version       Status = 9
	BadSetting    Status = 10
	BadArgument   Status = 11
	NoLibrary     Status = 12
	NoProvider    Status = 13
	PeerLost      Status = 14
	System        Status = 15
	Forked        Status = 16
	Internal      Status = 17
	statusLimit   Status = 18 // above all codes
	unknownStatus        = Internal
)

// Sentinels, one for each kind of error. The cause of an *Error wraps one of these, so that callers
// can use errors.Is in place of the text.
var (
	ErrNotInit     = &sentinel{NotInit, "the library is not initialised"}
	ErrFinalised   = &sentinel{Finalised, "the library has been finalised"}
	ErrPE          = &sentinel{BadPE, "there is no such PE"}
	ErrAddress     = &sentinel{BadAddress, "the address is not symmetric"}
	ErrRange       = &sentinel{Range, "the range leaves the segment"}
	ErrNoMemory    = &sentinel{NoMemory, "there is not enough memory"}
	ErrUnsupported = &sentinel{Unsupported, "not supported"}
	ErrTimeout     = &sentinel{Timeout, "timed out"}
	ErrVersion     = &sentinel{Version, "the versions do not match"}
	ErrSetting     = &sentinel{BadSetting, "the setting is not valid"}
	ErrArgument    = &sentinel{BadArgument, "the argument is not valid"}
	ErrNoLibrary   = &sentinel{NoLibrary, "the library cannot be loaded"}
	ErrNoProvider  = &sentinel{NoProvider, "no provider answers"}
	ErrPeerLost    = &sentinel{PeerLost, "the peer is gone"}
	ErrSystem      = &sentinel{System, "the system call failed"}
	ErrForked      = &sentinel{Forked, "the process was forked after the library was initialised"}
	ErrInternal    = &sentinel{Internal, "the library contradicts itself"}
)

// sentinel is an error that stands for a kind of errors.
type sentinel struct {
	status Status
	text   string
}

// Error returns the words for the kind of error.
func (s *sentinel) Error() string { return s.text }

// sentinels are the errors that stand for a Status each.
var sentinels = []*sentinel{
	ErrNotInit, ErrFinalised, ErrPE, ErrAddress, ErrRange, ErrNoMemory,
	ErrUnsupported, ErrTimeout, ErrVersion, ErrSetting, ErrArgument,
	ErrNoLibrary, ErrNoProvider, ErrPeerLost, ErrSystem, ErrForked, ErrInternal,
}

// String returns the text of the status's sentinel.
func (s Status) String() string {
	if s == OK {
		return "ok"
	}
	for _, e := range sentinels {
		if e.status == s {
			return e.text
		}
	}
	return "unknown status"
}

// StatusOf returns the code of the first sentinel in err's chain: OK for nil,
// Internal if the chain has none.
func StatusOf(err error) Status {
	if err == nil {
		return OK
	}
	var s *sentinel
	if errors.As(err, &s) {
		return s.status
	}
	return unknownStatus
}
