package network

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"libshmem/runtime/proxy/loop"
)

func TestRingReports(t *testing.T) {
	var out strings.Builder
	now := time.Unix(1000, 0)
	r := ringReports{say: func(text string) { fmt.Fprintf(&out, "shmem: PE 3: %s\n", text) }, now: func() time.Time { return now }}
	for range 1000 {
		r.add(errors.New("bad address"))
	}
	if n := strings.Count(out.String(), "shmem: PE 3: bad address\n"); n != maxReports {
		t.Errorf("%d of 1000 were told", n)
	}
	if !strings.Contains(out.String(), "only counted") {
		t.Error("nothing says that the others are counted")
	}
	now = now.Add(reportEvery)
	r.add(errors.New("bad PE"))
	if got := out.String(); !strings.Contains(got, "PE 3: 992 more operations of rings failed\n") || !strings.HasSuffix(got, "PE 3: bad PE\n") {
		t.Errorf("after the period: %q", got)
	}
	r.close()
	if got := out.String(); strings.Count(got, "more operations of rings") != 1 {
		t.Errorf("at the end: %q", got)
	}
}

// TestRingReportLate: if a proxy was off its processor for a moment, that is no warning, and does
// not count as one.
func TestRingReportLate(t *testing.T) {
	var said, noted []string
	r := ringReports{
		say: func(text string) { said = append(said, text) }, note: func(text string) { noted = append(noted, text) },
		now: func() time.Time { return time.Unix(1000, 0) },
	}
	for range 2 * maxReports {
		r.add(&loop.LateError{Gap: 1100 * time.Microsecond, Times: 1})
	}
	r.add(&loop.LateError{Gap: 12 * time.Millisecond, Times: 2, Grave: true})
	if len(noted) != 2*maxReports || !strings.HasPrefix(noted[0], "proxy: was off its processor for 1.1ms, 1 times so far") {
		t.Errorf("noted %q", noted)
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "proxy: was off its processor for 12ms, 2 times so far") {
		t.Errorf("said %q", said)
	}
}
