// Package libshmem holds the one fact that every part of the module shares:
// its version. The file VERSION is the only place where it is written; the
// Makefile hands the same text to the C front, and the front refuses a core
// that was built from another one.
//
// Nothing else lives here. The library starts at libshmem/capi (the C ABI) and
// libshmem/runtime/job (the composition root).
package libshmem

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var versionFile string

// Version is the text of the file VERSION, for example "0.1.0".
var Version = strings.TrimSpace(versionFile)
