//go:build !amd64 && !arm64

package clock

// Counts reports whether the counter is usable.
const Counts = false

func counter() uint64 { return 0 }
