package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/fabric/selftest"
	"libshmem/runtime/config"
	"libshmem/runtime/doctor"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/job/place"
)

// reportFile is the file that --fabric writes, for a helper who has no access to this machine.
const reportFile = "shmem-fabric-report.txt"

// testFabric is the command --fabric: it tests each NIC that a job would use, prints the findings,
// writes the report to a file, and returns the exit status.
func testFabric(cfg *config.Config, findings []doctor.Finding, environ []string, out printer, stderr io.Writer) int {
	findings = append(findings, checkNetwork(cfg, environ, true)...)
	memory, about, done := gpuMemory()
	nics, tested := testNICs(cfg, memory)
	findings = append(findings, tested...)
	if err := done(); err != nil {
		findings = append(findings, doctor.OfError(doctor.Wrong, "CUDA", "see nvidia-smi, and dmesg for Xid", err))
	}
	result := out.print(findings)
	text := reportText(cfg, environ, nics, about, findings)
	if err := os.WriteFile(reportFile, []byte(text), 0o644); err != nil {
		return fail(stderr, fmt.Errorf("write the report: %w", err))
	}
	if !out.json {
		fmt.Fprintln(out, "\nthe report is in "+reportFile)
	}
	return result
}

// testNICs opens an endpoint on one NIC after the other, and runs the self-test on it. memory is
// GPU memory for the test. `about` describes libfabric and the NICs, for the report.
func testNICs(cfg *config.Config, memory []selftest.GPU) (about string, findings []doctor.Finding) {
	s, err := place.ReadSettings(cfg)
	if err != nil {
		return "", nil // reported already
	}
	hints := s.Hints(cfg)
	hints.GPU = true // the self-test registers GPU memory with the NICs
	choice, err := ofi.Choose(cfg.Libfabric, hints)
	if err != nil {
		return "", []doctor.Finding{doctor.OfError(doctor.Wrong, "self-test", "shmem-info --fabric lists the providers that answer", err)}
	}
	defer choice.Close()
	for _, nic := range choice.NICs() {
		results := selftest.Run(func(c fabric.Config) (fabric.Provider, error) {
			c.Library, c.Provider, c.Fabric, c.NICs = cfg.Libfabric, choice.Provider(), choice.Fabric(), nic
			return ofi.Open(c)
		}, memory)
		for _, r := range results {
			subject := "NIC " + nic + ", " + r.Test
			switch r.Verdict {
			case selftest.Passed:
				findings = append(findings, doctor.Well(subject, "%s", r.Text))
			case selftest.Skipped:
				findings = append(findings, doctor.Lack(subject, "not needed by every job", "%s", r.Text))
			case selftest.Failed:
				findings = append(findings, doctor.Bad(subject, "docs/guides/efa.md lists the needs of each test", "%s", r.Text))
			}
		}
	}
	return fmt.Sprintf("libfabric %s, provider %s, NICs %s", choice.Version(), choice.Provider(), strings.Join(choice.NICs(), ", ")), findings
}

// gpuBytes is the size of the GPU memory that NICs write to in a test: a page of GPU memory, as
// NICs map it.
const gpuBytes = 2 << 20

// gpuMemory allocates memory of the first GPU, for the tests of NICs. They reach it by two methods:
// as a dma-buf, if the GPU can export one, and by its address (peer memory). One method is enough:
// if the dma-buf works, the test of peer memory does not fail (Spare). `about` describes the GPUs,
// and done frees the memory.
func gpuMemory() (memory []selftest.GPU, about string, done func() error) {
	done = func() error { return nil }
	driver, err := cuda.Open()
	if err != nil {
		return nil, "no GPU", done
	}
	dev, err := driver.Device(0)
	if err != nil {
		return nil, "no GPU that can be used", done
	}
	about = fmt.Sprintf("driver of CUDA %s, GPUs: %d", driver.Version, driver.Count)
	a, err := dev.Alloc(gpuBytes)
	if err != nil {
		return nil, about, dev.Close
	}
	done = func() error { return errors.Join(dev.Free(a), dev.Close()) }
	if err := dev.Zero(a, gpuBytes); err != nil {
		return nil, about, done
	}
	m := fabric.GPUMemory{Base: pointerTo(a), Len: gpuBytes, File: -1}
	// Each method must find the bytes that it has written, so earlier ones are cleared.
	read := func(to []byte) error { return dev.CopyOut(to, a) }
	if dev.Facts().DMABuf {
		if fd, err := dev.ExportDMABuf(a, gpuBytes); err == nil {
			file := m
			file.File = fd
			memory = append(memory, selftest.GPU{Method: "dma-buf", Memory: file, Read: read, Clear: func() error { return dev.Zero(a, gpuBytes) }})
			free := done
			done = func() error { return errors.Join(unix.Close(fd), free()) }
		}
	}
	return append(memory, selftest.GPU{Method: "peer memory", Memory: m, Read: read, Clear: func() error { return dev.Zero(a, gpuBytes) }, Spare: true}), about, done
}

// pointerTo converts an address of a GPU to a pointer, which structs of package fabric need. The
// CPU must not access memory through the pointer.
func pointerTo(a gpu.Address) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// reportText returns the content of the report: versions, settings and a line for each finding. The
// name of this host is removed, because reports are sent to others.
func reportText(cfg *config.Config, environ []string, nics, gpus string, findings []doctor.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "libshmem %s\n", libshmem.Version)
	if nics != "" {
		fmt.Fprintln(&b, nics)
	}
	fmt.Fprintln(&b, gpus)
	var u unix.Utsname
	host := ""
	if unix.Uname(&u) == nil {
		host = unix.ByteSliceToString(u.Nodename[:])
		fmt.Fprintf(&b, "%s %s %s\n", unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]))
	}
	b.WriteString("\n")
	for _, v := range cfg.Values() {
		if v.From != "" && v.Category != config.Launch && v.Category != config.Launcher {
			fmt.Fprintf(&b, "%s=%s\n", v.Name, v.Text)
		}
	}
	for _, name := range slices.Sorted(slices.Values(environ)) {
		if strings.HasPrefix(name, "FI_") {
			fmt.Fprintln(&b, name)
		}
	}
	b.WriteString("\n")
	for _, f := range findings {
		fmt.Fprintln(&b, f)
	}
	return hideHost(b.String(), host)
}

// hideHost replaces a host's name in a text by HOST, where it is a whole word.
func hideHost(text, host string) string {
	if host == "" {
		return text
	}
	letter := func(c byte) bool {
		return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	var b strings.Builder
	for {
		at := strings.Index(text, host)
		if at < 0 {
			return b.String() + text
		}
		end := at + len(host)
		inside := at > 0 && letter(text[at-1]) || end < len(text) && letter(text[end])
		b.WriteString(text[:at])
		if inside {
			b.WriteString(host)
		} else {
			b.WriteString("HOST")
		}
		text = text[end:]
	}
}
