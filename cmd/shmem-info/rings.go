package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
)

// slotSize is the size in bytes of a slot of a ring.
const slotSize = 16

// printRings prints which memory the rings of GPU and of host threads can have on this machine, and
// why other kinds are not possible.
func printRings(w io.Writer, cfg *config.Config) error {
	want, err := gpu.ParseKind(cfg.RingMemory.String())
	if err != nil {
		return err
	}
	var b strings.Builder
	total := uint64(cfg.RingCount) * uint64(cfg.RingSize) * slotSize
	fmt.Fprintf(&b, "\nring memory: SHMEM_RING_COUNT=%d of SHMEM_RING_SIZE=%d slots, %s for each PE that starts operations on a GPU\n",
		cfg.RingCount, cfg.RingSize, config.FormatSize(total))
	name, reports, context, err := surveyRingMemory(want)
	fmt.Fprintf(&b, "%s, SHMEM_RING_MEMORY=%s, * marks a job's choice:\n", name, want)
	for _, r := range reports {
		mark := " "
		if r.Chosen {
			mark = "*"
		}
		fmt.Fprintln(&b, mark, r)
	}
	if context != "" {
		fmt.Fprintln(&b, context)
	}
	fmt.Fprintf(&b, "host threads:\n* %s\n", hostReport())
	if _, writeErr := io.WriteString(w, b.String()); writeErr != nil {
		return writeErr
	}
	return err
}

// surveyRingMemory tries the kinds of ring memory on the first GPU, and describes how much of its
// memory a proxy's CUDA context uses. Without a GPU each report has the reason.
func surveyRingMemory(want gpu.Kind) (name string, reports []gpu.Report, context string, err error) {
	const withoutGPU = "GPU threads" // in place of the GPU's name
	driver, err := cuda.Open()
	if err != nil {
		return withoutGPU, gpu.Survey(nil, err, want), "", nil
	}
	dev, err := driver.Device(0)
	if err != nil {
		return withoutGPU, gpu.Survey(nil, err, want), "", nil
	}
	name = fmt.Sprintf("%s, %d of them, driver of CUDA %s", dev.Name(), driver.Count, driver.Version)
	if driver.Count == 1 {
		name = fmt.Sprintf("%s, driver of CUDA %s", dev.Name(), driver.Version)
	}
	reports = gpu.Survey(dev, nil, want)
	return name, reports, describeContext(dev), dev.Close()
}

// describeContext makes a CUDA context of the kind that proxies use, and returns a text on how much
// memory of the GPU it takes.
func describeContext(dev *cuda.Device) string {
	const what = "the proxies' own context, of each PE whose heap is reached through the network"
	before, _, err := dev.FreeMemory()
	if err == nil {
		_, err = dev.OwnContext("shmem-info")
	}
	after, _, later := dev.FreeMemory()
	if err = errors.Join(err, later); err != nil {
		return fmt.Sprintf("%s: not available: %v", what, err)
	}
	// max: another process may have freed memory meanwhile.
	return fmt.Sprintf("%s: %d MiB of the GPU", what, (max(before, after)-after)>>20)
}

// hostReport tries to allocate memory for the rings of host threads, and returns the result.
func hostReport() gpu.Report {
	m, err := gpu.Host(gpu.Page)
	if err != nil {
		return gpu.Report{Kind: gpu.Ordinary, Why: err}
	}
	if err := m.Close(); err != nil {
		return gpu.Report{Kind: gpu.Ordinary, Why: err}
	}
	return gpu.Report{Kind: m.Kind, Method: m.Method, Chosen: true}
}
