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
	offset uint64         // in each user heap, of the counters that stores of kernels add to
	main   gpu.Address    // of those in main memory, on the GPU; 0: it does not reach them
	pages  unsafe.Pointer // registered for that; nil: none
}

// countersSize returns the bytes of the counters in each heap: those of the program, then those of
// eager transfers.
func (p *Producers) countersSize() uint64 {
	return 8 * uint64(p.Settings.NotifyCount+area.EagerCounters(p.Settings.NotifyCount))
}

// mainCounters returns the counters in main memory.
func (p *Producers) mainCounters() unsafe.Pointer {
	return unsafe.Add(p.Heaps.Of(p.Me), -int(p.Notify))
}

// Counters returns what stores of kernels have added to this PE's notification counters, as the
// program sees the memory; nil if no PE of the job has a GPU.
func (p *Producers) Counters() unsafe.Pointer {
	if !p.Heaps.SomeGPU() {
		return nil
	}
	return unsafe.Add(p.Heaps.Own(), p.counts.offset)
}

// openCounters has the GPU reach the counters in main memory. Without them kernels have none; a
// kernel that calls for one then stops with a report.
func (p *Producers) openCounters() {
	if p.counts.pages != nil {
		return // an earlier try to make the kernels' memory failed behind it
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

// closeCounters takes the counters from the GPU, after the last kernel.
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
