// Package libshmem has what every part of the module shares: its version, the number of a PE, and
// an offset in symmetric memory.
//
// Nothing else lives here. The library starts at libshmem/capi (the C ABI) and
// libshmem/runtime/job, which composes it.
package libshmem

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var versionFile string

// Version is the text of the file VERSION, for example "0.1.0". That file is the only place where
// the version is written. The Makefile gives the same text to the C front, which refuses a core of
// another version.
var Version = strings.TrimSpace(versionFile)
