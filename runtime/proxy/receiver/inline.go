package receiver

// The compiler inlines functions of packages that are imported directly, and of no others.
import (
	_ "libshmem/runtime/proxy/endpoint"
	_ "libshmem/runtime/proxy/flight"
)
