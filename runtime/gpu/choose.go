package gpu

import (
	"errors"
	"fmt"
	"strings"

	"libshmem/runtime/shmerr"
)

// Report says whether one kind of ring memory works on this machine.
type Report struct {
	Kind   Kind
	Chosen bool
	Method string // the call or library that allocated it, if it works
	Why    error  // why it does not work; nil if it works
}

// String returns the report as one line, which does not say whether the kind was chosen.
func (r Report) String() string {
	if r.Why != nil {
		return r.Kind.String() + ": not available: " + shmerr.OneLine(r.Why)
	}
	return r.Kind.String() + ": " + r.Method
}

// Ring allocates n bytes for rings, of the wanted kind, that the GPU and the CPU share, and reports
// on every kind: it tries each other kind with one Page, which it releases.
//
// The error says why the wanted kind does not work, or, for Auto, why none does. Even with an error
// there is a report on every kind.
func Ring(dev Device, want Kind, n uint64) (*Memory, []Report, error) {
	if err := checkSize(n); err != nil {
		return nil, nil, err
	}
	var got *Memory
	reports := make([]Report, len(strategies))
	for i, s := range strategies {
		size := uint64(Page)
		keep := got == nil && (want == Auto || want == s.kind)
		if keep {
			size = n
		}
		m, err := s.alloc(dev, size)
		reports[i] = Report{Kind: s.kind, Why: err}
		if err != nil {
			continue
		}
		if keep {
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

// finish releases memory that was allocated as a trial, and completes its report: a kind of memory
// that cannot be released counts as not working.
func (r *Report) finish(m *Memory) {
	*r = Report{Kind: r.Kind, Chosen: r.Chosen, Method: m.Method}
	if err := m.Close(); err != nil {
		*r = Report{Kind: r.Kind, Why: err}
	}
}

// refusal returns the error of Ring if it allocated nothing: why the wanted kind of memory does not
// work or, for Auto, why none does, and which kinds work instead.
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
			Op: "allocate", Object: "ring memory", Cause: shmerr.Causef(shmerr.ErrArgument, "%s is not memory that a GPU and the CPU share", want),
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

// Survey tries every kind of ring memory with one Page and marks the one that Ring would choose. If
// dev is nil, all reports give absent as the reason.
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
