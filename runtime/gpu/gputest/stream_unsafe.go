package gputest

import (
	"encoding/binary"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/gpu"
)

// NewStream returns an empty stream.
func (d *Driver) NewStream() (gpu.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("NewStream"); err != nil {
		return 0, err
	}
	d.next++
	s := gpu.Stream(d.next)
	d.streams[s] = []func(){}
	return s, nil
}

// CloseStream drops a stream with the operations that are left in it.
func (d *Driver) CloseStream(s gpu.Stream) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stream(s)
	delete(d.streams, s)
	return d.call("CloseStream")
}

// stream returns the operations that are left in a stream, and fails the test if there is no such
// stream.
func (d *Driver) stream(s gpu.Stream) []func() {
	work, ok := d.streams[s]
	if !ok {
		d.T.Errorf("stream %d does not exist", s)
	}
	return work
}

// Waiting returns how many operations are left in a stream.
func (d *Driver) Waiting(s gpu.Stream) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.stream(s))
}

// Run carries out the next n operations of a stream.
func (d *Driver) Run(s gpu.Stream, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run(s, n)
}

// run is Run for a caller that holds the lock.
func (d *Driver) run(s gpu.Stream, n int) {
	work := d.stream(s)
	for _, w := range work[:n] {
		w()
	}
	d.streams[s] = work[n:]
}

// FinishStream does the same as SyncStream.
func (d *Driver) FinishStream(s gpu.Stream) error { return d.SyncStream(s) }

// SyncStream carries out all operations of a stream. When the call fails, it drops them.
func (d *Driver) SyncStream(s gpu.Stream) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("SyncStream"); err != nil {
		d.streams[s] = d.stream(s)[:0]
		return err
	}
	d.run(s, len(d.stream(s)))
	return nil
}

// put appends an operation to a stream.
func (d *Driver) put(call string, s gpu.Stream, w func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(call); err != nil {
		return err
	}
	d.streams[s] = append(d.stream(s), w)
	return nil
}

// CopyInAsync is CopyAsync for a source in main memory.
func (d *Driver) CopyInAsync(s gpu.Stream, to, from gpu.Address, n uint64) error {
	d.Locked(func() {
		if d.blocks[from] != nil {
			d.T.Errorf("CopyInAsync from %#x, which is GPU memory", uint64(from))
		}
	})
	return d.CopyAsync(s, to, from, n)
}

// CopyAsync appends a copy to a stream.
func (d *Driver) CopyAsync(s gpu.Stream, to, from gpu.Address, n uint64) error {
	return d.put("CopyAsync", s, func() { copy(d.at(to, n), d.at(from, n)) })
}

// Copies appends copies to a stream.
func (d *Driver) Copies(s gpu.Stream, copies []gpu.Copy, direction gpu.Direction) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("Copies"); err != nil {
		return err
	}
	for _, c := range copies {
		if c.Rows != 1 || c.N == 0 || direction == gpu.CopyIn && d.blocks[c.From] != nil {
			d.T.Errorf("copy %+v, direction %d", c, direction)
		}
		d.streams[s] = append(d.stream(s), func() { copy(d.at(c.To, c.N), d.at(c.From, c.N)) })
	}
	return nil
}

// Stores appends stores of words to a stream.
func (d *Driver) Stores(s gpu.Stream, words []gpu.Store) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.Can.StreamOps || len(words) == 0 || len(words) > gpu.MaxStores {
		d.T.Errorf("%d words to be stored by a driver that has the call: %v", len(words), d.Can.StreamOps)
	}
	if err := d.call("Stores"); err != nil {
		return err
	}
	for _, w := range words {
		d.streams[s] = append(d.stream(s), func() {
			b := binary.LittleEndian.AppendUint64(nil, w.Value)
			if uint64(w.At)%uint64(w.Width) != 0 || w.Width != 4 && w.Width != 8 {
				d.T.Errorf("%d bytes are stored at %#x", w.Width, uint64(w.At))
			}
			copy(d.at(w.At, uint64(w.Width)), b)
		})
	}
	return nil
}

// NewEvent returns an event that counts as recorded and done.
func (d *Driver) NewEvent() (gpu.Event, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("NewEvent"); err != nil {
		return 0, err
	}
	d.next++
	e := gpu.Event(d.next)
	d.events[e] = true
	return e, nil
}

// CloseEvent drops an event.
func (d *Driver) CloseEvent(e gpu.Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.events[e]; !ok {
		d.T.Errorf("event %d does not exist", e)
	}
	delete(d.events, e)
	return d.call("CloseEvent")
}

// Record appends an event to a stream.
func (d *Driver) Record(e gpu.Event, s gpu.Stream) error {
	d.Locked(func() {
		if !d.events[e] {
			d.T.Errorf("event %d is recorded again before it came", e)
		}
	})
	err := d.put("Record", s, func() { d.events[e] = true })
	if err == nil {
		d.Locked(func() { d.events[e] = false })
	}
	return err
}

// EventDone reports whether the stream has reached the event.
func (d *Driver) EventDone(e gpu.Event) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.events[e], d.call("EventDone")
}

// Pointer describes an address.
func (d *Driver) Pointer(a gpu.Address) (gpu.Pointer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for base, b := range d.blocks {
		if uint64(a-base) < b.n {
			return gpu.Pointer{Place: gpu.OnDevice, Base: base, Size: b.n}, d.call("Pointer")
		}
	}
	return gpu.Pointer{}, d.call("Pointer")
}

// Put appends an atomic operation of a kernel to a stream. It supports additions only. With a Claim
// only one of the streams with the operation applies it (gpu.Atomic).
func (d *Driver) Put(s gpu.Stream, o gpu.Atomic) error {
	if op := fabric.Op(o.Op); op != fabric.OpFetchAdd && op != fabric.OpAdd || o.Width != 4 && o.Width != 8 {
		d.T.Errorf("operation %d on %d bytes was put", o.Op, o.Width)
	}
	return d.put("Put", s, func() {
		if o.Claim != 0 {
			claim := d.word(o.Claim)
			if *claim != o.Free {
				return
			}
			*claim += 2
		}
		before := d.word(o.Fetched)
		if o.Width == 4 {
			word := (*uint32)(unsafe.Pointer(&d.at(o.At, 4)[0]))
			*before = uint64(*word)
			*word += uint32(o.Operand)
			return
		}
		word := d.word(o.At)
		*before = *word
		*word += o.Operand
	})
}

// Change appends an atomic operation of the stream itself. It supports additions only.
func (d *Driver) Change(s gpu.Stream, o gpu.Atomic) error {
	d.MayChange(o)
	return d.put("Change", s, func() { *d.word(o.At) += o.Operand })
}

// MayChange fails the test if a stream of this driver cannot apply the operation o without a
// kernel.
func (d *Driver) MayChange(o gpu.Atomic) {
	if !d.Can.StreamChange || fabric.Op(o.Op) != fabric.OpAdd || o.Width != 8 || o.Claim != 0 {
		d.T.Errorf("operation %+v of a stream by itself, which has such operations: %v", o, d.Can.StreamChange)
	}
}

// word returns the word of 8 bytes at an address of the GPU. The caller holds the lock.
func (d *Driver) word(a gpu.Address) *uint64 {
	return (*uint64)(unsafe.Pointer(&d.at(a, 8)[0]))
}
