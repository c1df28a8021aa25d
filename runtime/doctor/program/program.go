// Package program reports what a built program of NVSHMEM needs, and whether this library provides
// it. A program is an executable, a shared library, a cubin, a file of bitcode, or a wheel with
// such files. The package only reads the files, and runs nothing.
//
// Programs differ in how much of NVIDIA's library is built into them. A program that only calls the
// host library runs with any library that has its names. A program whose kernels call NVSHMEM
// contains NVIDIA's device archive or its bitcode, which reads structures that the host library
// fills. This library fills the structures of some releases (served).
package program

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"libshmem/runtime/doctor"
)

// soname is the soname of NVSHMEM's host library, which its programs need.
const soname = "libnvshmem_host.so.3"

// ownNames is the library of this project that has NVSHMEM's names. Programs that were linked with
// this project need it, and so does this project's file with NVIDIA's soname.
const ownNames = "libshmem_nvshmem.so"

// Machine is the machine on which the program would run.
type Machine struct {
	Lib         string   // the folder of this project's libraries
	LibraryPath string   // LD_LIBRARY_PATH
	Preload     string   // LD_PRELOAD
	Default     []string // folders that the loader searches last
}

// served are the releases of NVSHMEM whose device code this library serves.
var served = []string{"3.3", "3.4", "3.5", "3.6", "3.7", "3.8"}

// where completes a finding: the jobs in which this library serves that code, and what it lacks.
const where = "it runs if every PE has a GPU, on any network, but for kernels that use InfiniBand's queues themselves; tiles find no multicast"

// isServed reports whether this library serves the device code of a version of NVSHMEM.
func isServed(version string) bool {
	return slices.ContainsFunc(served, func(s string) bool { return version == s || strings.HasPrefix(version, s+".") })
}

// rebuild is the remedy for device code of releases that this library does not serve.
const rebuild = "compile it against this library's headers, docs/start/from-nvshmem.md"

// Examine returns the findings about a file: what the file needs of NVSHMEM, and which libraries it
// would be bound to on machine m.
func (m Machine) Examine(file string) ([]doctor.Finding, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: it is no file", file)
	}
	r, err := m.examine(filepath.Base(file), filepath.Dir(file), f, info.Size())
	return r.findings, err
}

// report is what was found about a file, and whether it uses NVSHMEM.
type report struct {
	findings []doctor.Finding
	uses     bool
}

// examine examines a file called name, of n bytes, in the folder dir. dir is empty for a member of
// a wheel, whose folder is not known.
func (m Machine) examine(name, dir string, r io.ReaderAt, n int64) (report, error) {
	var head [4]byte
	if _, err := r.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return report{}, fmt.Errorf("read %s: %w", name, err)
	}
	switch magic := string(head[:]); {
	case magic == elf.ELFMAG:
		return m.examineELF(name, dir, r)
	case magic == "BC\xc0\xde" || magic == "\xde\xc0\x17\x0b": // raw bitcode, or with a wrapper
		return m.examineBitcode(name, r, n)
	case magic == "PK\x03\x04" && dir != "": // zip, but not within a wheel
		return m.examineWheel(name, r, n)
	}
	return report{}, fmt.Errorf("read %s: it is neither an executable, a shared library, a cubin, bitcode nor a wheel", name)
}

// examineELF examines an ELF file: an executable, a shared library or a cubin.
func (m Machine) examineELF(name, dir string, r io.ReaderAt) (report, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return report{}, fmt.Errorf("read %s: %w", name, err)
	}
	if f.Machine == machineCUDA {
		return codeOf(f).report(name), nil
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return report{}, fmt.Errorf("read %s: it is an object file (link it, and name the program)", name)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return report{}, fmt.Errorf("read the libraries that %s needs: %w", name, err)
	}
	imported, err := f.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return report{}, fmt.Errorf("read the names that %s needs: %w", name, err)
	}
	var names []string
	for _, s := range imported {
		if strings.HasPrefix(s.Name, "nvshmem") {
			names = append(names, s.Name)
		}
	}
	all := report{uses: true}
	switch {
	case slices.Contains(needed, ownNames):
		all.findings = append(all.findings, doctor.Well(name, "was linked with this library"))
	case slices.Contains(needed, soname):
		all.findings = append(all.findings, m.checkArchive(name, f, names), m.checkNames(name, names), m.checkBinding(name, dir, f))
	case len(names) > 0: // a library whose program also loads a library that needs the soname
		all.findings = append(all.findings, m.checkArchive(name, f, names), m.checkNames(name, names))
	case opensByName(f):
		all.findings = append(all.findings, doctor.Well(name, "opens %s itself, by name, and takes the one that its process has loaded: it calls the host library alone", soname))
	default:
		all = report{[]doctor.Finding{doctor.Well(name, "does not need NVSHMEM's host library")}, false}
	}
	if c, has := codeWithin(f); has {
		device := c.report(name)
		all.findings, all.uses = append(all.findings, device.findings...), all.uses || device.uses
	}
	return all, nil
}

// opensByName reports whether a file has the soname among its constants, as one that calls dlopen
// with it.
func opensByName(f *elf.File) bool {
	s := f.Section(".rodata")
	if s == nil {
		return false
	}
	b, err := s.Data()
	return err == nil && bytes.Contains(b, []byte(soname))
}

// checkArchive returns a finding about whether the file f has NVIDIA's device archive in it: then
// it needs the function nvshmemid_hostlib_init_attr, which only the archive calls. names are the
// functions of NVSHMEM that f needs.
func (m Machine) checkArchive(name string, f *elf.File, names []string) doctor.Finding {
	if !slices.Contains(names, "nvshmemid_hostlib_init_attr") {
		return doctor.Well(name, "calls NVSHMEM's host library alone: it needs a library with its names")
	}
	version := archiveVersion(f)
	if isServed(version) {
		return doctor.Well(name, "has NVIDIA's device archive in it, NVSHMEM %s: %s", version, where)
	}
	return doctor.Bad(name, rebuild, "has NVIDIA's device archive in it, NVSHMEM %s: its kernels read structures of that release, and init refuses all but %s", version, strings.Join(served, ", "))
}

// archiveVersion returns the version of the device archive in a file. The version is among the
// constants of the archive's first function, 0x40 or 0x60 bytes from the function's name. If it is
// not found there, archiveVersion returns a range of versions: those in which NVSHMEM has the
// symbols of the file.
func archiveVersion(f *elf.File) string {
	if s := f.Section(".rodata"); s != nil {
		if b, err := s.Data(); err == nil {
			for at := range occurrences(b, "nvshmemi_init_thread\x00") {
				for _, distance := range []int{0x40, 0x60} {
					if v, ok := versionAt(b, at+distance, f); ok {
						return v
					}
				}
			}
		}
	}
	symbols, _ := f.DynamicSymbols() // without any the range has the oldest versions
	has := func(name string) bool {
		return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
	}
	switch {
	case has("nvshmem_selected_device_transport"):
		return "3.6 or later"
	case has("nvshmemi_get_device_state_ptrs"):
		return "3.5 or later"
	}
	return "3.4 or earlier"
}

// versionAt returns the version in three words of 32 bits at index `at` of b, such as "3.4.5" for
// 3, 4 and 5, in the byte order of f. It returns false if the words cannot be a version of NVSHMEM
// 3.
func versionAt(b []byte, at int, f *elf.File) (string, bool) {
	if at+12 > len(b) {
		return "", false
	}
	word := func(i int) uint32 { return f.ByteOrder.Uint32(b[at+4*i:]) }
	if word(0) != 3 || word(1) > 20 || word(2) > 99 {
		return "", false
	}
	return fmt.Sprintf("%d.%d.%d", word(0), word(1), word(2)), true
}

// occurrences yields the index of each occurrence of a text in b.
func occurrences(b []byte, text string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for from := 0; ; {
			i := bytes.Index(b[from:], []byte(text))
			if i < 0 || !yield(from+i) {
				return
			}
			from += i + 1
		}
	}
}

// checkNames returns a finding about whether this project's library has the names, functions of
// NVSHMEM, that a file needs.
func (m Machine) checkNames(name string, names []string) doctor.Finding {
	file := filepath.Join(m.Lib, soname)
	own, err := exports(file)
	if err != nil {
		return doctor.OfError(doctor.Wrong, name, "install the library whole: make install, or pip install the wheel", err)
	}
	var missing []string
	for _, n := range names {
		if !own[n] {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return doctor.Well(name, "needs %d names of NVSHMEM, and %s has all", len(names), file)
	}
	const most = 8
	list := strings.Join(missing[:min(most, len(missing))], ", ")
	if len(missing) > most {
		list += ", ..."
	}
	return doctor.Bad(name, "compile it against this library's headers, or report the names", "needs %d names of NVSHMEM, and %s lacks %d of them: %s", len(names), file, len(missing), list)
}

// exports returns the names that a shared library defines.
func exports(file string) (map[string]bool, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("read the names of %s: %w", file, err)
	}
	all := map[string]bool{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			all[s.Name] = true
		}
	}
	return all, nil
}
