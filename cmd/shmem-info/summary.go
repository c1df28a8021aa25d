package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/heap"
	"libshmem/runtime/heap/hostmem"
	"libshmem/runtime/job/area"
	"libshmem/runtime/mrcache/memmonitor"
)

// specification is the version of OpenSHMEM that shmem.h states.
const specification = "1.6"

// ownLibraries are the libraries of an installation.
var ownLibraries = []string{"libshmem.so", "libshmem_core.so"}

// jobSizes are the numbers of PEs for which the overhead is listed.
var jobSizes = []int{1, 2, 8, 64, 1024}

// printSummary prints versions, files, and what the heap and the rings of a job would take on this
// machine.
func printSummary(w io.Writer, cfg *config.Config) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "libshmem\t%s, OpenSHMEM %s\n", libshmem.Version, specification)
	fmt.Fprintf(t, "build\t%s, %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range ownLibraries {
		fmt.Fprintf(t, "%s\t%s\n", name, ownLibrary(name))
	}
	fmt.Fprintf(t, "libfabric\t%s\n", describeLibfabric(cfg))
	fmt.Fprintf(t, "registration cache\t%s\n", describeRegistrations(cfg))
	if err := t.Flush(); err != nil {
		return err
	}
	if err := printOverhead(w, cfg); err != nil {
		return err
	}
	return printRings(w, cfg)
}

// describeRegistrations returns a text on whether buffers outside the heap can stay registered
// here, with NICs that need a registration.
func describeRegistrations(cfg *config.Config) string {
	if cfg.RegistrationCache == 0 {
		return "off, by SHMEM_REGISTRATION_CACHE=0"
	}
	w, err := memmonitor.Open()
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return "off, each operation registers its buffer: " + err.Error()
	}
	return fmt.Sprintf("of SHMEM_REGISTRATION_CACHE=%s, with NICs that need one", config.FormatSize(cfg.RegistrationCache))
}

// printPlugin prints the path of the plugin for NCCL.
func printPlugin(w io.Writer) error {
	file := ownLibrary("libshmem_rma.so")
	if !filepath.IsAbs(file) {
		return fmt.Errorf("find the plugin for NCCL: %s (install libshmem_rma.so beside libshmem.so)", file)
	}
	_, err := fmt.Fprintln(w, file)
	return err
}

// ownLibrary returns the path of a library of this installation, or why it was not found. The
// folders bin and lib are side by side.
func ownLibrary(name string) string {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return "not found: " + err.Error()
	}
	file := filepath.Join(filepath.Dir(filepath.Dir(exe)), "lib", name)
	if _, err := os.Stat(file); err != nil {
		return fmt.Sprintf("not found: %v (run make install)", err)
	}
	return file
}

// printOverhead prints the cost of the symmetric heap beyond its own bytes, by the same arithmetic
// that a job uses.
func printOverhead(w io.Writer, cfg *config.Config) error {
	var b strings.Builder
	plan := hostmem.NewPlan(0, cfg.SymmetricSize, 1) // without an internal area, for one PE
	fmt.Fprintf(&b, "\nsymmetric heap of each PE: SHMEM_SYMMETRIC_SIZE=%s, alignments up to %s\n",
		config.FormatSize(cfg.SymmetricSize), config.FormatSize(plan.Align))
	fmt.Fprintf(&b, "overhead of each PE: the internal area, %d bytes for each allocated block and at most %d to round it up\n",
		heap.BlockCost, heap.Granule-1)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "PEs of the job\tinternal area, KiB\t")
	for _, n := range jobSizes { // without statics (0)
		fmt.Fprintf(t, "%d\t%d\t\n", n, area.New(n, 0, cfg.NotifyCount, cfg.MessageMemory).Internal>>10)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}
