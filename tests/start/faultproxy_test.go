package start

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem/runtime/bootstrap/uid/faultproxy"
)

var (
	inits = flag.Int("inits", 20, "jobs through a fault proxy")
	seed  = flag.Uint64("seed", 1, "of the fault proxy")
)

// between passes the id of each round on, with a fault proxy in place of PE 0's addresses. The
// fault proxies live as long as the jobs: a PE may still be leaving when the next round begins.
func between(t *testing.T, from, to string, rounds int) (all []*faultproxy.Proxy) {
	for round := range rounds {
		name := fmt.Sprintf("id.%d", round)
		b, err := os.ReadFile(filepath.Join(from, name))
		for end := time.Now().Add(limit); err != nil && time.Now().Before(end); b, err = os.ReadFile(filepath.Join(from, name)) {
			time.Sleep(time.Millisecond)
		}
		if err != nil || len(b) != 128 {
			t.Errorf("round %d: %d bytes, %v", round, len(b), err)
			return all
		}
		m, id, err := faultproxy.New([128]byte(b), *seed+uint64(round))
		if err != nil {
			t.Error(err)
			return all
		}
		all = append(all, m)
		draft := filepath.Join(to, "draft")
		if err := os.WriteFile(draft, id[:], 0o600); err != nil {
			t.Error(err)
			return all
		}
		if err := os.Rename(draft, filepath.Join(to, name)); err != nil {
			t.Error(err)
			return all
		}
	}
	return all
}

// Programs that begin and end jobs cope with connections that are refused, reset, delayed and cut
// off.
func TestFaultProxy(t *testing.T) {
	program, from, to := compile(t, "again"), t.TempDir(), t.TempDir()
	men := make(chan []*faultproxy.Proxy)
	go func() { men <- between(t, from, to, *inits) }()
	all(t, 3, func(pe int) {
		dir := to
		if pe == 0 {
			dir = from
		}
		e := run(t, nil, program, fmt.Sprint(pe), "3", filepath.Join(dir, "id"), fmt.Sprint(*inits))
		if e.status != 0 || !strings.Contains(e.out, fmt.Sprintf("PE %d done", pe)) {
			t.Errorf("with -seed=%d: PE %d: status %d\n%s", *seed, pe, e.status, e.out)
		}
	})
	var faults [faultproxy.Kinds]int64
	for _, m := range <-men {
		m.Close()
		for k, n := range m.Faults() {
			faults[k] += n
		}
	}
	t.Logf("%d refused, %d reset, %d delayed, %d cut off", faults[faultproxy.Refuses], faults[faultproxy.Resets], faults[faultproxy.Delays], faults[faultproxy.Truncates])
	for k, n := range faults {
		if n == 0 && *inits >= 100 {
			t.Errorf("the fault proxy did nothing of kind %d", k)
		}
	}
	if faults == [faultproxy.Kinds]int64{} {
		t.Error("the fault proxy did nothing")
	}
}
