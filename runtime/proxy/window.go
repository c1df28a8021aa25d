package proxy

import "libshmem/runtime/proxy/credit"

// In a window of fewer writes than this, the answers limit the rate, because one is under way at a
// time; the wait of each signal for its bytes does not. 32 writes of 8 KiB to one PE have 0.15 of a
// link of 200 Gb/s, and 0.44 if the rest goes without numbers; 64 have 0.29 and 0.48, but to eight
// PEs 0.67 and 0.45 (TestSimWindowRates).
const smallWindow = 64

// advertisedWindow returns the window for which this PE's queue has room.
func (e *Engine) advertisedWindow(n int) uint32 {
	if !e.Net.Unordered || e.Net.Caps.Data < 4 {
		return 0
	}
	return credit.WriteWindow(n, e.Net.Caps.Arrivals)
}

// agreeOnWindow takes the least window of all reachable PEs.
func (e *Engine) agreeOnWindow(all []Endpoint) {
	for i := range all {
		if len(all[i].Addr) > 0 {
			e.space.Window = min(e.space.Window, all[i].Window)
		}
	}
	e.spares = e.Net.Caps.DeliveryComplete && e.space.Window < e.smallWindow
}

// WriteWindow returns how many writes with numbers this PE may have under way to each other one,
// once it is connected; 0: writes have no numbers.
func (e *Engine) WriteWindow() uint32 {
	if !e.numbers {
		return 0
	}
	return e.space.Window
}
