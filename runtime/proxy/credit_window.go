package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	flow "libshmem/runtime/sequence"
)

// A numbered write carries its number in the sender's sequence as immediate data, by which the
// target restores the order of messages that have overtaken it. The completion queue of a PE has
// an entry for each numbered write that has arrived and has not been polled. A full queue loses
// entries, on EFA without an error, and a write whose entry is lost counts as never arrived. So
// each PE has a window: the number of such writes that it may have under way to another PE. The
// windows of all other PEs, and the entries of the PE's own operations, fit its queue. Each PE
// announces, with its address, the window that its queue has room for, and all use the smallest
// one before the first write. If a queue has no room for one write of each PE, writes have no
// numbers, and the sender keeps the order (queue.go).

// queueEntries bounds the entries of a completion queue: on EFA a device grants no more, and
// NVSHMEM asks for as many. If a device grants fewer, Caps.Arrivals says so.
const queueEntries = 32768

// ProviderConfig returns the provider configuration for an engine of a job of n PEs, without the
// members that name the provider. The completion queue has queueEntries entries: first the tokens
// get one each, then the numbered writes of other PEs that may arrive, and what is left is for
// further receive buffers.
func ProviderConfig(n int) fabric.Config {
	arrivals := (n - 1) * int(writeWindow(n, queueEntries-layout.Tokens))
	return fabric.Config{
		Tokens: layout.Tokens, MaxRecv: layout.Receives, Data: true, Fence: true, IfUnordered: true,
		Arrivals: arrivals, MoreRecv: min(maxReceives-layout.Receives, queueEntries-layout.Tokens-arrivals),
	}
}

// maxReceives is the number of receive buffers of an engine on a network that rejects messages
// that find no buffer (receiver not ready), as efa-direct does. The windows have to leave
// maxReceives entries of the queue, because each buffer may become one. Of 1,020 messages at once
// 956 find no buffer with 64 buffers, and all have arrived after 331 us instead of 6
// (TestSimIncast).
const maxReceives = 1024

// moreReceives returns the number of receive buffers beyond the first ones, in a job of n PEs with
// a window of numbered writes.
func moreReceives(n int, window uint32, c *fabric.Caps) int {
	if !c.RNRRetries {
		return 0
	}
	more := min(maxReceives-layout.Receives, c.Arrivals-(n-1)*int(window))
	if c.RecvQueue > 0 {
		more = min(more, c.RecvQueue-layout.Receives)
	}
	return max(0, more)
}

// writeWindow returns how many numbered writes each of n PEs may have under way to one PE whose
// completion queue has room for `arrivals` arrived writes: a power of two, or 0.
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
