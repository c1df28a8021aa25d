package program

import (
	"archive/zip"
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"path"
	"strings"

	"libshmem/runtime/doctor"
)

// machineCUDA is the machine of code for NVIDIA's GPUs in an ELF file (EM_CUDA).
const machineCUDA = elf.Machine(190)

// code says which version of NVSHMEM, or of this library's headers, the device code of a file
// contains.
type code struct {
	state    uint64 // bytes of the structure that NVIDIA's host library fills; 0: there is none
	version  string // of NVSHMEM, by its variable; "": not known
	ibgda    bool   // it has NVSHMEM's functions by which kernels drive the queues of InfiniBand NICs
	own      bool   // it has kernels that use this project's headers
	unlisted bool   // some code is compressed, or has no symbols, so that the calls in it are not known
	bitcode  bool   // it is bitcode, which does not show the structure's size, with NVIDIA's structure
}

// codeOf reads the symbols of a cubin, an ELF file of device code.
func codeOf(f *elf.File) code {
	var c code
	symbols, err := f.Symbols()
	c.unlisted = err != nil
	for _, s := range symbols {
		switch {
		case s.Name == "nvshmemi_device_state_d":
			c.state = max(c.state, s.Size)
		case s.Name == "nvshmemi_device_lib_version_d":
			c.version = versionOf(f, s)
		case s.Name == "nvshmemi_ibgda_device_state_d":
			c.ibgda = true
		// A symbol of NVSHMEM has shmemi_ only within nvshmemi_.
		case strings.Contains(strings.ReplaceAll(s.Name, "nvshmemi_", ""), "shmemi_"):
			c.own = true
		}
	}
	return c
}

// versionOf reads the version of NVSHMEM in a variable of three words.
func versionOf(f *elf.File, s elf.Symbol) string {
	if s.Size != 12 || int(s.Section) >= len(f.Sections) {
		return ""
	}
	section := f.Sections[s.Section]
	at := s.Value
	if f.Type != elf.ET_REL {
		at -= section.Addr
	}
	b, err := section.Data()
	if err != nil || at+12 > uint64(len(b)) {
		return ""
	}
	v, _ := versionAt(b, int(at), f)
	return v
}

// codeWithin reads the symbols of all cubins in a program. has is false if the program has no
// device code.
func codeWithin(f *elf.File) (all code, has bool) {
	for _, s := range f.Sections {
		if s.Name != ".nv_fatbin" && s.Name != "__nv_relfatbin" || s.Size == 0 {
			continue
		}
		has = true
		b, err := s.Data()
		if err != nil {
			all.unlisted = true
			continue
		}
		found := false
		for at := range occurrences(b, elf.ELFMAG) {
			image, err := elf.NewFile(bytes.NewReader(b[at:]))
			if err != nil || image.Machine != machineCUDA {
				continue
			}
			found = true
			c := codeOf(image)
			all.state = max(all.state, c.state)
			all.version = cmp.Or(all.version, c.version)
			all.ibgda, all.own, all.unlisted = all.ibgda || c.ibgda, all.own || c.own, all.unlisted || c.unlisted
		}
		all.unlisted = all.unlisted || !found
	}
	return all, has
}

// stateVersions are the versions of NVSHMEM by the size in bytes of code.state's structure.
var stateVersions = map[uint64]string{776: "3.3 to 3.6", 816: "3.7", 848: "3.8"}

// report returns the findings about device code in the file of this name, and whether the code uses
// NVSHMEM.
func (c code) report(name string) report {
	reportOf := func(uses bool, f doctor.Finding) report { return report{[]doctor.Finding{f}, uses} }
	switch {
	case c.bitcode:
		return reportOf(true, doctor.Well(name, "is bitcode with NVIDIA's device code: of NVSHMEM %s %s", strings.Join(served, ", "), where))
	case c.state != 0:
		version, known := "of a version that is not known here", false
		if v := stateVersions[c.state]; v != "" {
			version = "as of NVSHMEM " + v
			known = c.version == "" || isServed(c.version)
		}
		if c.version != "" {
			version = "of NVSHMEM " + c.version
		}
		text := fmt.Sprintf("has kernels with NVIDIA's device code, whose structure has %d bytes, %s", c.state, version)
		if c.ibgda {
			text += "; they can drive InfiniBand's queues themselves"
		}
		if known {
			return reportOf(true, doctor.Well(name, "%s: %s", text, where))
		}
		return reportOf(true, doctor.Bad(name, rebuild, "%s", text))
	case c.own:
		return reportOf(true, doctor.Well(name, "has kernels of this library's headers"))
	case c.unlisted:
		return reportOf(false, doctor.Lack(name, "build it without nvcc's --compress-mode, to see more", "has code for GPUs that is compressed, or has no names: what it calls cannot be seen"))
	}
	return reportOf(false, doctor.Well(name, "has code for GPUs that does not call NVSHMEM"))
}

// examineBitcode examines a file of LLVM's bitcode, in which the names of symbols are text.
func (m Machine) examineBitcode(name string, r io.ReaderAt, n int64) (report, error) {
	b := make([]byte, n)
	if _, err := r.ReadAt(b, 0); err != nil && err != io.EOF {
		return report{}, fmt.Errorf("read %s: %w", name, err)
	}
	has := func(text string) bool { return bytes.Contains(b, []byte(text)) }
	// shmemi_here is the variable in which kernels that use this project's headers find the job.
	return code{bitcode: has("nvshmemi_device_state_d"), own: has("shmemi_here")}.report(name), nil
}

// mostOfMember is the largest member of a wheel, in bytes, that is examined: it is read into
// memory.
const mostOfMember = 2 << 30

// examineWheel examines the libraries and files of device code in a wheel, and returns the findings
// about those that use NVSHMEM.
func (m Machine) examineWheel(name string, r io.ReaderAt, n int64) (report, error) {
	z, err := zip.NewReader(r, n)
	if err != nil {
		return report{}, fmt.Errorf("read %s: %w", name, err)
	}
	var all report
	others := 0
	for _, part := range z.File {
		base := path.Base(part.Name)
		if !strings.Contains(base, ".so") && !strings.HasSuffix(base, ".cubin") && !strings.HasSuffix(base, ".bc") {
			continue
		}
		if part.UncompressedSize64 > mostOfMember {
			all.findings = append(all.findings, doctor.Lack(part.Name, "unpack it, and name the file", "has %d bytes and was not looked at", part.UncompressedSize64))
			continue
		}
		b, err := readMember(part)
		if err != nil {
			return report{}, fmt.Errorf("read %s of %s: %w", part.Name, name, err)
		}
		found, err := m.examine(part.Name, "", bytes.NewReader(b), int64(len(b)))
		if err != nil || !found.uses {
			others++
			continue
		}
		all.findings, all.uses = append(all.findings, found.findings...), true
	}
	if others > 0 || !all.uses {
		all.findings = append(all.findings, doctor.Well(name, "%d libraries and files of device code in it do not use NVSHMEM", others))
	}
	return all, nil
}

// readMember returns the bytes of a member of a wheel.
func readMember(m *zip.File) ([]byte, error) {
	f, err := m.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
