package memmonitor

import (
	"fmt"

	"libshmem/runtime/procmaps"
)

// whole returns the span s extended to the bounds of the mappings that s overlaps. It returns an
// error unless these mappings are private anonymous memory without a gap between them.
func whole(l *procmaps.List, s Span) (Span, error) {
	all, err := l.Over(s.Begin, s.End)
	if err != nil {
		return s, err
	}
	at := s.Begin // the memory from s.Begin up to here is private and anonymous
	for _, m := range all {
		if m.Begin > at || !m.Anonymous {
			break
		}
		at = m.End
	}
	if at < s.End {
		return s, fmt.Errorf("at %#x there is no private anonymous memory", at)
	}
	return Span{all[0].Begin, at}, nil
}

// anonymous lists the parts of spans that are private anonymous memory, such as that of malloc. If
// the mappings cannot be read, all of a span counts as such.
func anonymous(l *procmaps.List, spans []Span) (parts []Span) {
	for _, s := range spans {
		all, err := l.Over(s.Begin, s.End)
		if err != nil {
			all = []procmaps.Mapping{{Begin: s.Begin, End: s.End, Anonymous: true}}
		}
		for _, m := range all {
			if m.Anonymous {
				parts = append(parts, Span{max(m.Begin, s.Begin), min(m.End, s.End)})
			}
		}
	}
	return parts
}
