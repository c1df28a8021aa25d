package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"libshmem/runtime/config"
)

// System is a machine as its kernel shows it to one process.
type System struct {
	root string
}

// At returns the machine whose folders proc, sys and dev are below the folder root; "" means this
// machine.
func At(root string) *System { return &System{root} }

// Findings returns the findings about the machine, for a job with these settings, in the order in
// which they are printed.
func (s *System) Findings(cfg *config.Config) []Finding {
	var all []Finding
	for _, check := range []func(*config.Config) []Finding{
		s.kernel, s.processors, s.memory, s.hugePages, s.locked, s.files, s.tracing, s.nics, s.interfaces, s.gpus,
	} {
		all = append(all, check(cfg)...)
	}
	return all
}

// path returns the path of a file of the machine, below its root.
func (s *System) path(parts ...string) string {
	return filepath.Join(append([]string{s.root, "/"}, parts...)...)
}

// text returns the text of a file, and whether it could be read.
func (s *System) text(parts ...string) (string, bool) {
	b, err := os.ReadFile(s.path(parts...))
	return strings.TrimSpace(string(b)), err == nil
}

// number returns the decimal number in a file; false if there is none.
func (s *System) number(parts ...string) (n uint64, ok bool) {
	text, _ := s.text(parts...)
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// exists reports whether there is a file below the root.
func (s *System) exists(parts ...string) bool {
	_, err := os.Stat(s.path(parts...))
	return err == nil
}

// glob returns the paths that match a pattern, without the root.
func (s *System) glob(pattern string) []string {
	files, _ := filepath.Glob(s.path(pattern)) // its only error is a malformed pattern
	for i, f := range files {
		files[i] = strings.TrimPrefix(f, s.root)
	}
	return files
}

// names returns the names of the files that match a pattern, without their folders.
func (s *System) names(pattern string) []string {
	files := s.glob(pattern)
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	return files
}

// status returns the value of a line in /proc/self/status, or "".
func (s *System) status(name string) string {
	text, _ := s.text("proc/self/status")
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// The capabilities that findings depend on, with their numbers of linux/capability.h.
const (
	capIPCLock   = 14
	capSysPtrace = 19
)

// may reports whether this process has a capability.
func (s *System) may(capability int) bool {
	set, err := strconv.ParseUint(s.status("CapEff"), 16, 64)
	return err == nil && set&(1<<capability) != 0
}
