//go:build !amd64 && !arm64

package clock

// Counts reports whether the counter is usable.
const Counts = false

// counter returns 0: the counters of these processors are not used.
func counter() uint64 { return 0 }
