package pe

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestReports(t *testing.T) {
	var out strings.Builder
	now := time.Unix(1000, 0)
	r := reports{say: func(text string) { fmt.Fprintf(&out, "shmem: PE 3: %s\n", text) }, now: func() time.Time { return now }}
	for range 1000 {
		r.add(errors.New("bad address"))
	}
	if n := strings.Count(out.String(), "shmem: PE 3: bad address\n"); n != reportMost {
		t.Errorf("%d of 1000 were told", n)
	}
	if !strings.Contains(out.String(), "counted only") {
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
