// Package figure has the figures of shmem-perf: how PEs write them, the file of JSON lines that
// stores them, their statistics, and how they compare with other figures or with a table of
// expectations.
//
// It starts no PEs and reads no facts of the machine (cmd/shmem-perf, cmd/internal/facts). One
// goroutine uses it.
package figure

import (
	"fmt"
	"strconv"

	"libshmem/cmd/internal/facts"
)

// A Run is one start of the PEs.
type Run struct {
	Kind    string       `json:"kind"` // "run"
	ID      string       `json:"run"`
	System  string       `json:"system"` // "libshmem", or what was measured beside it
	Library string       `json:"library"`
	PEs     int          `json:"pes"`
	Path    string       `json:"path"` // from PE 0 to the last PE: "node" or "network"
	NICs    []string     `json:"nics,omitempty"`
	Left    []string     `json:"left_out,omitempty"` // what was not measured, and why
	Args    []string     `json:"args,omitempty"`
	Hosts   []facts.Host `json:"hosts,omitempty"` // of PE 0 and of the last PE
}

// A Figure is what one operation takes in one run, at one size.
type Figure struct {
	Kind       string    `json:"kind"` // "figure"
	Run        string    `json:"run"`
	System     string    `json:"system"`
	Test       string    `json:"test"`
	Measure    string    `json:"measure"`
	Scope      string    `json:"scope"` // what starts the operation: host, stream, thread, warp or block
	Size       int64     `json:"size"`
	PEs        int       `json:"pes"`
	Path       string    `json:"path"`
	NICs       int       `json:"nic_count,omitempty"` // that carried the job; 0 on one node
	Unit       string    `json:"unit"`
	Until      string    `json:"until"`      // where the time of an operation ends
	Iterations int64     `json:"iterations"` // of each batch
	Batches    []float64 `json:"batches"`    // the value of each batch, a group of iterations that are timed together
	Median     float64   `json:"median"`     // of the batches
	Low        float64   `json:"low"`        // the interval of the median
	High       float64   `json:"high"`
	Confidence float64   `json:"confidence"` // of the interval
	Singles    *Singles  `json:"singles,omitempty"`
}

// Singles are the times of operations that were timed one by one, the reading of the clock
// included.
type Singles struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// A Wrong is a figure whose operation left wrong data in memory.
type Wrong struct {
	Kind    string `json:"kind"` // "wrong"
	Run     string `json:"run"`
	Test    string `json:"test"`
	Measure string `json:"measure"`
	Size    int64  `json:"size"`
	PEs     int    `json:"pes_wrong"` // how many PEs found wrong data
}

// A Key has what must be equal in figures that are compared.
type Key struct {
	System, Test, Measure, Scope string
	Size                         int64
	PEs                          int
	Path                         string
	NICs                         int
}

// Ours is the system of figures of this library, and not of another program or library.
const Ours = "libshmem"

// Key returns the key of a figure.
func (f *Figure) Key() Key {
	return Key{f.System, f.Test, f.Measure, f.Scope, f.Size, f.PEs, f.Path, f.NICs}
}

// Name returns the test and the measure, and the system and the scope if they are not the default
// ones.
func (k Key) Name() string {
	name := k.Test + " " + k.Measure
	if k.System != Ours {
		name = k.System + " " + name
	}
	if k.Scope != "host" {
		name += " by " + k.Scope
	}
	return name
}

// String names a figure, with its size, its PEs and the path.
func (k Key) String() string {
	return fmt.Sprintf("%s of %s, %d PEs, %s", k.Name(), Bytes(k.Size), k.PEs, k.Over())
}

// Over returns the path, with the number of NICs if there are several.
func (k Key) Over() string {
	if k.NICs > 1 {
		return fmt.Sprintf("%s of %d NICs", k.Path, k.NICs)
	}
	return k.Path
}

// LowerIsBetter reports whether a smaller value of the figure is better: that is so for times, and
// not for rates.
func (f *Figure) LowerIsBetter() bool { return f.Unit == "us" }

// Bytes returns a size in the form of the command line, such as 64K; without a suffix if it is no
// whole number of KiB.
func Bytes(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Number returns a value with three significant digits, or, above 1000, with all digits before the
// point.
func Number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
