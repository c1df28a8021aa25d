package job

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// nvshmemLibraries returns the banner's warning about other libraries with NVSHMEM's names: torch
// loads NVIDIA's into the process, and calls that bind to it do not reach this library.
func nvshmemLibraries() string {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return ""
	}
	defer maps.Close()
	return librariesIn(maps)
}

// librariesIn returns the text about the library with NVSHMEM's names for a process with the memory
// map `maps` (/proc/self/maps); "" if the process has not loaded that library.
func librariesIn(maps io.Reader) string {
	const own, old = "libshmem_nvshmem.so", "libnvshmem_host.so.3"
	ours := ""
	var others []string
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		at := strings.IndexByte(lines.Text(), '/')
		if at < 0 {
			continue
		}
		file := lines.Text()[at:]
		switch filepath.Base(file) {
		case own:
			ours = file
		case old:
			if !slices.Contains(others, file) {
				others = append(others, file)
			}
		}
	}
	others = slices.DeleteFunc(others, func(file string) bool { return filepath.Dir(file) == filepath.Dir(ours) })
	switch {
	case ours == "":
		return ""
	case len(others) == 0:
		return fmt.Sprintf("the names of NVSHMEM are those of %s", ours)
	}
	return fmt.Sprintf("the names of NVSHMEM are those of %s; the process has %s, too, for files that were linked with it", ours, strings.Join(others, " and "))
}
