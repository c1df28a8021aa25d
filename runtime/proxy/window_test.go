package proxy

import (
	"testing"
	"unsafe"

	"libshmem/runtime/proxy/layout"
)

// Writes that find a small window full go without a number only if their completion says that they
// have arrived. Elsewhere no message would say so, and they wait.
func TestSmallWindow(t *testing.T) {
	const window, puts, n = 8, 60, 10000
	for _, delivery := range []bool{true, false} {
		m := modes[5]
		m.caps.DeliveryComplete, m.caps.Arrivals = delivery, window
		j := newJob(t, m, 1, 2, 1<<20)
		a, source := j.pes[0], make([]byte, n)
		for range puts {
			a.post(func() Status { return a.Put(1, 0, unsafe.Pointer(&source[0]), n, nil) })
		}
		a.quiet()
		c := a.Report.CountOf(1)
		if c[layout.Writes] != puts || c[layout.Numbered] < window || (c[layout.Numbered] < puts) != delivery || a.WriteWindow() != window {
			t.Errorf("delivery %v, a window of %d: %d of %d writes had numbers", delivery, a.WriteWindow(), c[layout.Numbered], c[layout.Writes])
		}
		j.close()
	}
}
