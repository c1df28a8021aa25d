package repo

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// includes lists the folders whose headers the C of a folder may include besides its own, as graph
// does for Go.
const includes = `
abi:
    # what C and Go share lies below all that share it
include:
    # programs see this folder alone, wherever it is installed
device/...: device/... include include/nvshmem/...
    # as include, beside which it is installed
fabric/ofi/stub/...: fabric/ofi/stub/...
    # stands in for libfabric, which knows nothing of this library
fabric/...: abi
    # a provider serves whoever polls it, and knows no front
runtime/gpu/...: abi
    # doors to drivers
runtime/proxy/...: abi device/shmem runtime/proxy/...
    # what it does for callers in C lies here, and they include it
runtime/...: abi
    # Go, but for what has to be C
capi/front: abi device/shmem include
    # the other half of the library is behind a table of functions
capi/nvshmem: capi/front include
    # forwards to the other library
capi/core: abi device/shmem runtime/gpu/cuda runtime/proxy/fastpath
    # hands the front's calls to the engine, the quick ones in C
`

var (
	includeLine = regexp.MustCompile(`(?m)^(?://)?\s*#\s*include\s+(?:"([^"]+)"|<(shmem[^>]*)>)`)
	searched    = regexp.MustCompile(`-I\$\{SRCDIR\}/?([\w./]*)`)
)

// TestIncludes checks the same directions for C as for Go.
func TestIncludes(t *testing.T) {
	allowed, reason := parse(t, includes)
	tree := files(t)
	exists, search := map[string]bool{}, map[string][]string{}
	for _, f := range tree {
		exists[f.path] = true
		for _, m := range searched.FindAllSubmatch(f.data, -1) {
			folder := path.Dir(f.path)
			search[folder] = append(search[folder], path.Join(folder, string(m[1])))
		}
	}
	seen := map[string]int{}
	for _, f := range tree {
		folder := path.Dir(f.path)
		row, ok := rowOf(allowed, folder)
		if !ok || strings.Contains(f.path, "testdata/") || !strings.Contains(".c.h.cu.cuh.go", path.Ext(f.path)) {
			continue
		}
		// The include paths of the Makefile and of the packages' own flags.
		where := append([]string{folder, "include", "device", "abi"}, search[folder]...)
	next:
		for _, m := range includeLine.FindAllSubmatch(f.data, -1) {
			name := string(m[1]) + string(m[2])
			if folder == "capi/nvshmem" && name == "zz_below.h" || folder == "device/bitcode" && name == "zz_functions.h" {
				continue // a build makes it
			}
			for _, w := range where {
				file := path.Join(w, name)
				if !exists[file] {
					continue
				}
				from := path.Dir(file)
				for _, pattern := range allowed[row] {
					if matches(pattern, from) {
						seen[row]++
						continue next
					}
				}
				if from != folder {
					t.Errorf("%s: %s may not include %s:%s", f.path, folder, file, reason[row])
				}
				continue next
			}
			// cgo makes one header; and a preamble may name headers in a system's folders.
			if name != "_cgo_export.h" && path.Ext(f.path) != ".go" {
				t.Errorf("%s: include %q: no folder that is searched has it", f.path, name)
			}
		}
	}
	for _, row := range []string{"fabric/...", "runtime/proxy/...", "capi/front", "capi/core"} {
		if seen[row] == 0 {
			t.Errorf("%s: includes nothing of what it may: the test looks in the wrong place", row)
		}
	}
}
