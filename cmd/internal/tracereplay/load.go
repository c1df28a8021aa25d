// Package tracereplay replays the traces of a job on a network that the user does not have, and
// prints what to expect there. It owns the step from files to programs of PEs, the refusal of
// incomplete traces, and the text of the report. The replay itself is cmd/internal/replay.
//
// It starts no goroutines.
package tracereplay

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"libshmem/cmd/internal/replay/program"
	"libshmem/cmd/internal/tracefile"
	"libshmem/runtime/shmerr"
)

// recorderCost is the time, in nanoseconds, that the recorder adds between two calls. It is the
// upper limit of what libshmem_preload.so may add to a timed call.
const recorderCost = 60

// sameRunRemedy is the remedy for calls that contradict each other.
const sameRunRemedy = "replay the files of one run, as its PEs have written them"

// Recording has the programs of a job, and the facts about the job in its files.
type Recording struct {
	*program.Job
	*tracefile.Trace
	Hosts     []string
	Alignment tracefile.Alignment
}

// Load reads all files of a job. An incomplete trace is refused, because a PE would wait for calls
// that are missing.
func Load(files []string) (*Recording, error) {
	trace, err := tracefile.Scan(files, nil) // nil: only the facts about the files, no visit of the events
	if err != nil {
		return nil, err
	}
	if err := checkWhole(trace); err != nil {
		return nil, &shmerr.Error{Op: "replay", Object: strings.Join(files, " "), Cause: err}
	}
	merge, err := trace.Merge()
	if err != nil {
		return nil, err
	}
	defer merge.Close()
	builder := program.NewBuilder(trace.NPEs, recorderCost)
	for id, members := range trace.Teams {
		builder.SetMembers(id, members)
	}
	for e := new(tracefile.Event); ; {
		if err = merge.Next(e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if !e.Call() {
			continue
		}
		err = builder.Add(e.PE, program.Call{
			Name: e.Name, Thread: e.Thread, Start: e.At, End: e.End(), Stolen: e.Stolen, Peer: e.Peer, Bytes: uint64(max(0, e.Bytes)), Team: e.Team,
		})
		if err != nil {
			return nil, &shmerr.Error{Op: "replay", Object: fmt.Sprintf("the call in line %d of PE %d", e.Line, e.PE), Cause: err, Remedy: sameRunRemedy}
		}
	}
	job, err := builder.Job()
	if err != nil {
		return nil, &shmerr.Error{Op: "replay", Object: strings.Join(files, " "), Cause: err}
	}
	align := trace.Alignment()
	return &Recording{Job: job, Trace: trace, Hosts: align.Hosts, Alignment: align}, nil
}

// checkWhole returns an error if a trace lacks calls that a replay needs: files of PEs, the end of
// a file, lost events, or functions that were only counted.
func checkWhole(t *tracefile.Trace) error {
	if missing := t.Missing(); len(missing) > 0 {
		return shmerr.Causef(shmerr.ErrArgument, "the files of %s of the %d PEs are missing (name the files of all PEs, or their folder)", listPEs(missing), t.NPEs)
	}
	for _, f := range t.Files {
		if f.Cut != nil {
			return shmerr.Causef(shmerr.ErrArgument, "%s: %v (record a run that ends by itself)", f.Name, f.Cut)
		}
	}
	var silent []int
	for _, p := range t.PEs {
		if p.Lost > 0 {
			return shmerr.Causef(shmerr.ErrArgument, "%d calls of PE %d were lost when they were recorded (record fewer calls, or on a faster disk)", p.Lost, p.PE)
		}
		for _, name := range slices.Sorted(maps.Keys(p.Counted)) {
			if k := program.MeaningOf(name).Kind; k != program.Local {
				return shmerr.Causef(shmerr.ErrArgument, "PE %d has only counted its %d calls of %s (record without calls=)", p.PE, p.Counted[name], name)
			}
		}
		if p.Calls == 0 {
			silent = append(silent, p.PE)
		}
	}
	if len(silent) > 0 {
		return shmerr.Causef(shmerr.ErrArgument, "the files have no calls of %s (record them with SHMEM_PRELOAD=trace; SHMEM_TRACE records proxies and NICs)", listPEs(silent))
	}
	if t.NPEs == 0 {
		return shmerr.Causef(shmerr.ErrArgument, "the files have no calls")
	}
	return nil
}

// listPEs returns the numbers of PEs as a text, in ascending order: all if they are up to 8, else
// the first 8 and how many more there are.
func listPEs(pes []int) string {
	const most = 8
	pes = slices.Sorted(slices.Values(pes))
	var all []string
	for _, pe := range pes[:min(most, len(pes))] {
		all = append(all, fmt.Sprintf("PE %d", pe))
	}
	text := strings.Join(all, ", ")
	if more := len(pes) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
