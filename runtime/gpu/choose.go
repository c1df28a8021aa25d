package gpu

import (
	"errors"
	"fmt"
	"strings"

	"libshmem/runtime/shmerr"
)

// Report says of one kind of memory whether it works on this machine.
type Report struct {
	Kind   Kind
	Chosen bool
	Method string // how it was got, where it works
	Why    error  // why it does not; nil where it works
}

// String is one line, without the mark of the chosen one.
func (r Report) String() string {
	if r.Why != nil {
		return r.Kind.String() + ": not available: " + shmerr.OneLine(r.Why)
	}
	return r.Kind.String() + ": " + r.Method
}

// Ring allocates n bytes that the GPU and the CPU share, of the kind that is
// wanted, and reports on every kind. A kind that was not needed is tried with
// one Page and released.
//
// The error names the reason of the wanted kind, or of all kinds for Auto; the
// reports are complete then too.
func Ring(dev Device, want Kind, n uint64) (*Memory, []Report, error) {
	if err := checkSize(n); err != nil {
		return nil, nil, err
	}
	var got *Memory
	reports := make([]Report, len(strategies))
	for i, s := range strategies {
		size := uint64(Page)
		take := got == nil && (want == Auto || want == s.kind)
		if take {
			size = n
		}
		m, err := s.alloc(dev, size)
		reports[i] = Report{Kind: s.kind, Why: err}
		if err != nil {
			continue
		}
		if take {
			got, reports[i].Method, reports[i].Chosen = m, m.Method, true
		} else {
			reports[i].finish(m)
		}
	}
	if got == nil {
		return nil, reports, refusal(dev, want, reports)
	}
	return got, reports, nil
}

// finish releases memory that was only tried. Memory that cannot be released does not work.
func (r *Report) finish(m *Memory) {
	*r = Report{Kind: r.Kind, Chosen: r.Chosen, Method: m.Method}
	if err := m.Close(); err != nil {
		*r = Report{Kind: r.Kind, Why: err}
	}
}

// refusal is the error where nothing was allocated.
func refusal(dev Device, want Kind, reports []Report) error {
	var causes []error
	var works []string
	for _, r := range reports {
		switch {
		case r.Why == nil:
			works = append(works, r.Kind.String())
		case want == r.Kind:
			causes = []error{r.Why}
		case want == Auto:
			causes = append(causes, fmt.Errorf("%s: %w", r.Kind, r.Why))
		}
	}
	if len(causes) == 0 {
		return &shmerr.Error{
			Op: "allocate", Object: "ring memory", Cause: shmerr.Causef(shmerr.ErrArgument, "%s is no memory that a GPU and the CPU share", want),
			Remedy: "use auto, pinned, managed or bar",
		}
	}
	var remedy string
	if len(works) > 0 {
		remedy = "set SHMEM_RING_MEMORY to one that works here: " + strings.Join(works, ", ")
	}
	texts := make([]string, len(causes))
	for i, err := range causes {
		texts[i] = shmerr.OneLine(err)
	}
	return &shmerr.Error{
		Op: "allocate", Object: fmt.Sprintf("ring memory on %s, SHMEM_RING_MEMORY=%s", dev.Name(), want),
		Cause:  shmerr.Causef(errors.Join(causes...), "%s", strings.Join(texts, "; ")),
		Remedy: remedy,
	}
}

// Survey tries every kind with one Page and marks the one that Ring would take. Without a device it
// reports why there is none.
func Survey(dev Device, absent error, want Kind) []Report {
	if dev == nil {
		reports := make([]Report, len(strategies))
		for i, s := range strategies {
			reports[i] = Report{Kind: s.kind, Why: absent}
		}
		return reports
	}
	m, reports, _ := Ring(dev, want, Page) // its error is in the reports
	if m != nil {
		for i := range reports {
			if reports[i].Chosen {
				reports[i].finish(m)
			}
		}
	}
	return reports
}
