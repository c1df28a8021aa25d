package tracefile

import "fmt"

// The categories and names that distinguish the kinds of files.
const (
	CategoryCall = "shmem"           // a call of the program, recorded by libshmem_preload.so
	CategoryNIC  = "NIC"             // an operation of a NIC, from its post to its completion
	HeadName     = "libshmem_trace"  // the metadata event at the head of a file of calls
	TeamName     = "libshmem_team"   // the members of a team
	CountsName   = "libshmem_counts" // how often functions were called that are counted only
	Version      = 1                 // version of the format that this package reads
)

// None is the value of Peer, Bytes and Team of an event that has none.
const None = -1

// Event is one event of a file. Its texts stay valid; Args is valid until the next event is read.
type Event struct {
	Phase    byte   // X complete, i instant, b and e begin and end, M metadata
	Name     string // the function as it was called, or the action of a proxy
	Category string
	ID       string // ID of the operation to which b and e belong
	PE       int
	Thread   int64
	At       int64 // nanoseconds, on the clock of the file, or of PE 0 after Merge
	Length   int64 // nanoseconds; 0 unless complete
	// Nanoseconds before a call in which the thread could not run, args.stolen; 0 if the file does
	// not have it.
	Stolen int64
	Peer   int    // the other PE, args.pe or args.to; or None
	Bytes  int64  // args.bytes, or None
	Team   int64  // args.team, or None
	Args   []byte // the JSON text of args, or nil
	Line   int    // in its file, from 1
}

// End returns the moment at which a complete event ended.
func (e *Event) End() int64 { return e.At + e.Length }

// Call reports whether the event is a call of the program.
func (e *Event) Call() bool { return e.Phase == 'X' && e.Category == CategoryCall }

// Cut marks the end of a file that its writer did not complete.
type Cut struct {
	Line   int
	Inside bool  // in the middle of an event, which is lost
	Events int64 // complete events before it
}

// String returns a text that says where the file ends.
func (c *Cut) String() string {
	where := "after"
	if c.Inside {
		where = "in the middle of the event after"
	}
	if c.Events == 0 {
		return fmt.Sprintf("it ends at line %d before its first event", c.Line)
	}
	return fmt.Sprintf("it ends at line %d, %s event %d", c.Line, where, c.Events)
}
