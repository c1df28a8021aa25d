package perf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"libshmem/cmd/internal/facts"
	"libshmem/cmd/internal/figure"
)

// besides are the programs and libraries that can be measured for comparison with libshmem. The
// measuring program starts fi_pingpong and iperf3, between two hosts. The driver (shmem-perf, which
// starts the PEs) starts Open MPI's OSHMEM and NVSHMEM, on one host.
var besides = []string{"oshmem", "nvshmem", "fi_pingpong", "iperf3"}

// parseBeside reads the list of --beside: the programs that are measured for comparison.
func parseBeside(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	if list == "all" {
		return besides, nil
	}
	names, err := splitKnown(besides, list, "all")
	if err != nil {
		return nil, fmt.Errorf("--beside=%s: %w", list, err)
	}
	return names, nil
}

// dropUnfit removes the libraries that --beside without a list should not mention, because none of
// their figures has a scope of the command line.
func (s *settings) dropUnfit() {
	s.beside = slices.DeleteFunc(slices.Clone(s.beside), func(name string) bool {
		return name == "nvshmem" && len(s.gpuScopes()) == 0 || name == "oshmem" && !slices.Contains(s.scopes, scopes[0])
	})
}

// splitKnown splits a list at commas, and returns an error for a word that is not known. more is a
// word for several words of the list, which the error mentions.
func splitKnown(known []string, list, more string) ([]string, error) {
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no %q (say %s, or %s)", name, strings.Join(known, ", "), more)
		}
	}
	return names, nil
}

// pingpongProvider returns the libfabric provider with which fi_pingpong is started: that of -p.
// For -p tcp, and without -p, it is tcp with the layer ofi_rxm.
func (s *settings) pingpongProvider() string {
	for _, w := range s.launch {
		if p, ok := strings.CutPrefix(w, "SHMEM_PROVIDER="); ok && p != "tcp" {
			return p
		}
	}
	return "tcp;ofi_rxm"
}

// oshmem is Open MPI's OSHMEM, with the measuring program built for it.
type oshmem struct {
	dir     string   // temporary: has the program and, while it runs, the shared memory of its PEs
	program string   // in dir
	args    []string // options of oshrun
}

// buildLimit is how long a compiler may take, and leaveLimit a PE to end after its last figure.
const (
	buildLimit = 5 * time.Minute
	leaveLimit = 10 * time.Second
)

// A rival is another library that the driver measures in turn with libshmem.
type rival interface {
	// runJob starts the PEs once and reports their figures. words are the arguments of the
	// measuring program for the host.
	runJob(r *reporter, words []string) error
	// close removes what was built for the comparison.
	close()
}

// rivals are the rivals of the command line, by their names.
type rivals map[string]rival

// newRivals prepares the libraries that --beside names, and reports why one is left out.
func newRivals(s *settings, r *reporter, bin string) rivals {
	all := rivals{}
	prepare := map[string]func(*settings, string) (rival, error){"oshmem": newOSHMEM, "nvshmem": newNVSHMEM}
	for _, name := range s.beside {
		if prepare[name] == nil {
			continue
		}
		if one, err := prepare[name](s, bin); err != nil {
			r.failBeside(name, err)
		} else {
			all[name] = one
		}
	}
	return all
}

// run measures each rival once. One that fails is left out from then on.
func (all rivals) run(r *reporter) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if r.ended {
			return
		}
		if err := all[name].runJob(r, r.settings.programArgs()); err != nil {
			r.failBeside(name, err)
			all[name].close()
			delete(all, name)
		}
	}
}

// close removes what the rivals have built for this run.
func (all rivals) close() {
	for _, one := range all {
		one.close()
	}
}

// failBeside reports why a library or a program is not measured. That is not an error of the
// command.
func (r *reporter) failBeside(name string, err error) {
	r.printLine(fmt.Sprintf("shmem-perf: measure %s beside libshmem: %v", name, err))
}

// onOneMachine returns an error if the command line starts PEs on several machines or hosts.
func (s *settings) onOneMachine() error {
	for _, w := range s.launch {
		if name, _, _ := strings.Cut(w, "="); slices.Contains([]string{"--host", "--hostfile", "--hosts", "--host-netns"}, name) {
			return errors.New("it is measured on one machine only")
		}
	}
	return nil
}

// newOSHMEM builds the measuring program for Open MPI, by its compiler wrapper oshcc, in a
// temporary folder. An error says why the comparison is left out.
func newOSHMEM(s *settings, bin string) (rival, error) {
	if !slices.Contains(s.scopes, scopes[0]) {
		return nil, errors.New("its figures are those of the host (add host to --scope)")
	}
	if err := s.onOneMachine(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	compiler := "oshcc"
	version, err := exec.CommandContext(ctx, compiler, "--showme:version").CombinedOutput()
	if err != nil || !strings.Contains(string(version), "Open SHMEM") {
		return nil, errors.New("oshcc in PATH is not that of Open MPI (install its development files)")
	}
	sources, err := filepath.Glob(installedPath(bin, "share", "libshmem", "perf", "measure", "*.c"))
	if err != nil || len(sources) == 0 {
		return nil, errors.New("share/libshmem/perf/measure has no sources (install shmem-perf again)")
	}
	o := &oshmem{}
	if o.dir, err = os.MkdirTemp("", "shmem-perf-"); err != nil {
		return nil, err
	}
	o.program = filepath.Join(o.dir, "perf")
	// The loops are aligned as those of the program for libshmem (Makefile).
	build := exec.CommandContext(ctx, compiler, append(sources, "-O2", "-falign-functions=64", "-falign-loops=64", "-o", o.program)...)
	if out, err := build.CombinedOutput(); err != nil {
		o.close()
		return nil, fmt.Errorf("build the measuring program: %w: %s", err, bytes.TrimSpace(out))
	}
	n := max(s.pes, 2)
	// If a program crashes in shmem_finalize, as with Debian's Open MPI 4.1.4, the files of Open
	// MPI's shared memory (vader) stay behind. They are in this folder, so that close removes them.
	o.args = []string{"--mca", "btl_vader_backing_directory", o.dir, "-n", strconv.Itoa(n)}
	if os.Geteuid() == 0 {
		o.args = append(o.args, "--allow-run-as-root")
	}
	if n > runtime.NumCPU() {
		o.args = append(o.args, "--oversubscribe")
	}
	return o, nil
}

// close removes the folder with the program.
func (o *oshmem) close() { _ = os.RemoveAll(o.dir) }

// runJob starts the measuring program once as PEs of Open MPI, and reports its figures. A crash
// after the last figure is not an error.
func (o *oshmem) runJob(r *reporter, words []string) error {
	// root= is for becomePE alone, and other programs are measured beside libshmem only.
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "root=") || strings.HasPrefix(w, "beside=") })
	if host, err := json.Marshal(facts.Read(r.settings.root)); err == nil {
		words = append(words, "facts="+string(host))
	}
	cmd := exec.Command("oshrun", append(append(o.args, o.program), words...)...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	cmd.WaitDelay = leaveLimit
	read, err := r.runAndRead(cmd, "oshmem")
	if cmd.Process == nil { // it was not started
		return err
	}
	if errors.Is(read, figure.ErrUnfinished) {
		return fmt.Errorf("%w: %s", read, lastLine(messages.String()))
	}
	return read
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
