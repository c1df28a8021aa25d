package sender

// The compiler inlines functions of packages that are imported directly, and of no others. Without
// these imports each message takes 1 ns more.
import (
	_ "libshmem/runtime/proxy/flight"
	_ "libshmem/runtime/sequence"
)
