package uid

import (
	"errors"
	"flag"
	"testing"

	"libshmem"
	"libshmem/runtime/bootstrap/uid/faultproxy"
)

var (
	inits = flag.Int("inits", 50, "inits through a fault proxy")
	seed  = flag.Uint64("seed", 1, "of the fault proxies")
)

// TestFaultProxy: whatever connections suffer, no PE fails, and nothing is lost, doubled
// or out of order.
func TestFaultProxy(t *testing.T) {
	const pes = 3
	var faults [faultproxy.Kinds]int64
	for i := range *inits {
		r, id := root(t)
		r.mu.Lock()
		r.reconnectTimeout = eventTimeout // a busy machine does not make a loss of a PE that comes back
		r.mu.Unlock()
		m, bad, err := faultproxy.New(id, *seed+uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		all(t, pes, func(pe libshmem.PE) error {
			b, err := Join(Options{ID: bad, PE: pe, Size: pes, Timeout: eventTimeout})
			if err != nil {
				return err
			}
			err = errors.Join(live(b, pe, pes, 3), b.Close())
			if lost := b.Losses(); len(lost) > 0 {
				t.Errorf("PE %d gets %+v", pe, lost)
			}
			return err
		})
		r.Close()
		m.Close()
		for k, n := range m.Faults() {
			faults[k] += n
		}
		if t.Failed() {
			t.Fatalf("with -seed=%d -inits=1", *seed+uint64(i))
		}
	}
	for k, n := range faults {
		if n == 0 && *inits >= 50 {
			t.Errorf("no connection got a fault of kind %d", k)
		}
	}
	t.Logf("%d refused, %d reset, %d delayed, %d cut off", faults[faultproxy.Refuses], faults[faultproxy.Resets], faults[faultproxy.Delays], faults[faultproxy.Truncates])
}
