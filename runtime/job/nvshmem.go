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

// librariesIn returns the text about this project's library with NVSHMEM's names, and about those
// of NVIDIA, for a process with the memory map `maps` (/proc/self/maps); "" if the process has not
// loaded the former.
func librariesIn(maps io.Reader) string {
	const ownName, nvidiaName = "libshmem_nvshmem.so", "libnvshmem_host.so.3"
	own := ""
	var nvidia []string
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		at := strings.IndexByte(lines.Text(), '/')
		if at < 0 {
			continue
		}
		file := lines.Text()[at:]
		switch filepath.Base(file) {
		case ownName:
			own = file
		case nvidiaName:
			if !slices.Contains(nvidia, file) {
				nvidia = append(nvidia, file)
			}
		}
	}
	// The file of NVIDIA's name beside the own library belongs to this project, too.
	nvidia = slices.DeleteFunc(nvidia, func(file string) bool { return filepath.Dir(file) == filepath.Dir(own) })
	switch {
	case own == "":
		return ""
	case len(nvidia) == 0:
		return fmt.Sprintf("the names of NVSHMEM are those of %s", own)
	}
	return fmt.Sprintf("the names of NVSHMEM are those of %s; the process has %s, too, for files that were linked with it", own, strings.Join(nvidia, " and "))
}
