package tracefile

import (
	"encoding/json"
	"fmt"
	"math"
)

// Head describes the PE of a file of calls. A PE whose files have no head, such as those of
// SHMEM_TRACE, gets its number from its events and has no Program.
type Head struct {
	PE      int
	NPEs    int // number of PEs of the job; 0 if the file does not have it
	Host    string
	HostID  string // the host's name in SHMEM_HOST_ID: shmemrun --hosts simulates several on one
	Program string
	Library string // the file of the library that was called
	Clock   []Offset
	Unseen  []string // calls that could not be recorded, and why
	Lost    int64    // events that are in no file of the PE
	Old     int64    // those of them that were in older files, which were deleted to limit the size
	Merged  bool     // shmem-trace merge has written the file
}

// Offset is one comparison of a PE's clock with that of PE 0.
type Offset struct {
	At    int64 // ns, on the PE's own clock
	Add   int64 // ns to add to its clock to get that of PE 0
	Error int64 // ns by which Add may be wrong
}

// headJSON has the args of a head in JSON. Pointers distinguish an absent number from 0.
type headJSON struct {
	Version *int         `json:"version"`
	PE      *int         `json:"pe"`
	NPEs    *int         `json:"npes"`
	Host    *string      `json:"host"`
	HostID  *string      `json:"host_id"`
	Program *string      `json:"program"`
	Library *string      `json:"library"`
	Clock   []offsetJSON `json:"clock"`
	Unseen  []string     `json:"unseen"`
	Lost    *int64       `json:"lost"`
	Old     *int64       `json:"discarded"`
	Merged  *bool        `json:"merged"`
}

type offsetJSON struct {
	At     float64 `json:"at"`
	Offset float64 `json:"offset"`
	Error  float64 `json:"error"`
}

// maxPEs limits the numbers of PEs that a file may name, because readers have tables of that size.
const maxPEs = 1 << 20

// add adds the fields of one metadata event. A file may have several for a PE, because the counts
// of losses are known only at its end. Later fields replace earlier ones; comparisons of clocks
// that are all later than the known ones are appended.
func (h *Head) add(args []byte) error {
	var j headJSON
	if err := json.Unmarshal(args, &j); err != nil {
		return fmt.Errorf("its head is malformed: %w", err)
	}
	switch {
	case j.Version == nil:
		return fmt.Errorf("its head has no version")
	case *j.Version != Version:
		return fmt.Errorf("its head has version %d, not %d", *j.Version, Version)
	case j.NPEs != nil && (*j.NPEs < 1 || *j.NPEs > maxPEs || *j.NPEs <= h.PE):
		return fmt.Errorf("its head has PE %d of %d PEs", h.PE, *j.NPEs)
	case j.Lost != nil && *j.Lost < 0:
		return fmt.Errorf("its head has %d lost events", *j.Lost)
	case j.Old != nil && (*j.Old < 0 || j.Lost == nil || *j.Old > *j.Lost):
		return fmt.Errorf("its head has %d discarded events, and not as many lost ones", *j.Old)
	}
	clock := make([]Offset, len(j.Clock))
	for i, c := range j.Clock {
		clock[i] = Offset{nanoseconds(c.At), nanoseconds(c.Offset), nanoseconds(c.Error)}
		switch {
		case i > 0 && clock[i].At < clock[i-1].At:
			return fmt.Errorf("its head compares clocks at %v us after %v us", c.At, j.Clock[i-1].At)
		case c.Error < 0:
			return fmt.Errorf("its head has the error %v us of a clock", c.Error)
		}
	}
	switch {
	case len(clock) == 0:
	case len(h.Clock) > 0 && clock[0].At > h.Clock[len(h.Clock)-1].At:
		h.Clock = append(h.Clock, clock...)
	default:
		h.Clock = clock
	}
	setIfPresent(&h.NPEs, j.NPEs)
	setIfPresent(&h.Host, j.Host)
	setIfPresent(&h.HostID, j.HostID)
	setIfPresent(&h.Program, j.Program)
	setIfPresent(&h.Library, j.Library)
	setIfPresent(&h.Lost, j.Lost)
	setIfPresent(&h.Old, j.Old)
	setIfPresent(&h.Merged, j.Merged)
	if j.Unseen != nil {
		h.Unseen = j.Unseen
	}
	return nil
}

// setIfPresent copies a value of a head to a field of Head, unless the head lacks the value (nil).
func setIfPresent[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// nanoseconds converts microseconds. Larger numbers than 1<<60 are reduced to that, so that sums of
// two do not overflow.
func nanoseconds(us float64) int64 {
	const most = 1 << 60
	return int64(math.Round(min(max(us*1000, -most), most)))
}
