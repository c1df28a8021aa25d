package device

import (
	"fmt"
	"unsafe"

	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/job/area"
)

// notifyCounters are the notification counters of this PE that kernels use.
type notifyCounters struct {
	offset uint64         // in each user heap, of the counters that stores of kernels increment
	main   gpu.Address    // GPU address of the counters in main memory; 0: the GPU does not reach them
	pages  unsafe.Pointer // of main memory that are registered with the GPU for that; nil: none
}

// countersSize returns the bytes of the counters in each heap: those of the program, then those of
// eager transfers.
func (p *Producers) countersSize() uint64 {
	return 8 * uint64(p.Settings.NotifyCount+area.EagerCounters(p.Settings.NotifyCount))
}

// mainCounters returns the address of this PE's notification counters in main memory.
func (p *Producers) mainCounters() unsafe.Pointer {
	return unsafe.Add(p.Heaps.Of(p.Me), -int(p.Notify))
}

// Counters returns the address, as the program sees it, of the counters that stores of kernels
// increment: their part of this PE's notification counters. It is nil if no PE of the job has a
// GPU.
func (p *Producers) Counters() unsafe.Pointer {
	if !p.Heaps.SomeGPU() {
		return nil
	}
	return unsafe.Add(p.Heaps.Own(), p.counts.offset)
}

// openCounters registers the notification counters in main memory with the GPU. If that fails,
// kernels have no counters, and one that uses a counter stops with a report.
func (p *Producers) openCounters() {
	if p.counts.pages != nil {
		return // they are registered: an earlier call of Kernels failed after that
	}
	at := p.mainCounters()
	within := uintptr(at) % area.Page
	pages := unsafe.Add(at, -int(within))
	address, err := p.GPU.Device().HostRegister(pages, area.RoundUp(uint64(within)+p.countersSize(), area.Page))
	if err != nil {
		p.Log.Printf("gpu", config.LogInfo, "kernels have no notification counters: %v", err)
		return
	}
	p.counts.pages, p.counts.main = pages, address+gpu.Address(within)
}

// closeCounters ends the registration of the counters in main memory with the GPU, after the last
// kernel.
func (p *Producers) closeCounters() error {
	if p.counts.pages == nil {
		return nil
	}
	pages := p.counts.pages
	p.counts.pages, p.counts.main = nil, 0
	if err := p.GPU.Device().HostUnregister(pages); err != nil {
		return fmt.Errorf("release the notification counters: %w", err)
	}
	return nil
}
