package proxy

import (
	"libshmem/fabric"
	flow "libshmem/runtime/order"
)

// The completion queue of a PE has an entry for each write with a number that has come and
// has not been read. One that is full loses entries, on EFA without a word, and a write
// whose entry is lost never arrives. So all other PEs together may have no more such writes
// under way to a PE than its queue has room for, besides what its own operations need: each
// has a window of as many. The window of a job is the least that a PE's queue has room for.
// Each PE says its own where it gives its address, and all take the least before the first
// write. Where not even one write of each PE has room, writes have no numbers.

// queueEntries is how many entries a completion queue has at most: on EFA a device grants
// no more, and NVSHMEM asks for as many. Where it grants fewer, Caps.Arrivals says so.
const queueEntries = 32768

// Config is what a provider has to be opened with for an engine of a job of n PEs, but
// for what names it.
func Config(n int) fabric.Config {
	return fabric.Config{
		Tokens: Tokens, MaxRecv: MaxRecv, Data: true, Fence: true, IfUnordered: true,
		Arrivals: (n - 1) * int(writeWindow(n, queueEntries-Tokens)),
	}
}

// writeWindow is how many writes with numbers each of n PEs may have under way to one whose
// queue has room for so many arrivals: a power of two, or 0.
func writeWindow(n, arrivals int) uint32 {
	w := int(flow.Default.Window)
	if n > 1 {
		w = min(w, arrivals/(n-1))
	}
	if w < 1 {
		return 0
	}
	return uint32(floor2(w))
}

// offeredWindow is what this PE's queue has room for.
func (e *Engine) offeredWindow(n int) uint32 {
	if !e.unordered || e.caps.Data < 4 {
		return 0
	}
	return writeWindow(n, e.caps.Arrivals)
}

// agreeOnWindow takes the least window of all PEs that can be reached.
func (e *Engine) agreeOnWindow(all []Endpoint) {
	for i := range all {
		if len(all[i].Addr) > 0 {
			e.space.Window = min(e.space.Window, all[i].Window)
		}
	}
}

// WriteWindow is how many writes with numbers this PE may have under way to each other one,
// once it is connected; 0: writes have no numbers.
func (e *Engine) WriteWindow() uint32 {
	if !e.numbers {
		return 0
	}
	return e.space.Window
}
