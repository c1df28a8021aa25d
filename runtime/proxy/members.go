package proxy

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// runtime/mesh uses engines without a job. It opens an engine for the largest number of PEs that
// may ever come, connects it while it knows no PE but itself, and lets PEs join and leave while
// others communicate. Such an engine has no heap. PEs register regions one by one (mem.Regions),
// and the owners of engines send each other messages about them. A number that a PE has had is not
// given to another one.

// memberHooks are the functions of the owner of an engine without a job.
type memberHooks struct {
	message func(pe libshmem.PE, m []byte)
	misuse  func(pe libshmem.PE, reason string)
}

// UseRegions makes this an engine without a heap: other PEs access the memory that AddRegion
// registers. Its caller calls it before Connect. The engine passes to message the payload of each
// message that another engine has sent by SendMember; the payload is valid during the call. It
// calls misuse, with the reason, for a PE whose operation was on memory outside the regions of this
// PE; the operation has changed nothing. Both are called under the engine's lock, and must not call
// the engine.
func (e *Engine) UseRegions(message func(pe libshmem.PE, m []byte), misuse func(pe libshmem.PE, reason string)) {
	e.ops.Net.members = memberHooks{message, misuse}
	e.ops.Net.Segment.Regions = &mem.Regions{}
}

// PassMessage passes a member message to the engine's owner. It returns false if the owner expects
// none.
func (e *network) PassMessage(pe libshmem.PE, m []byte) bool {
	if e.members.message == nil {
		return false
	}
	e.members.message(pe, m)
	return true
}

// MaxMember is the largest payload of a member message, in bytes.
const MaxMember = layout.MaxPayload

// SendMember sends a member message, in the order of this context's other messages. Again: it was
// not sent, and the caller tries again.
func (e *Engine) SendMember(pe libshmem.PE, m []byte) Status {
	p := &e.ops.Peers[pe]
	if !e.out.Reaches(p, pe) {
		return e.ops.Net.Fail(e.ops.Net.Unreachable(pe))
	}
	st := e.out.SendBytes(pe, e.Epoch, noParity, &layout.Header{Kind: layout.KindMember}, unsafe.Pointer(unsafe.SliceData(m)), len(m))
	if st == Failed {
		e.handleUnreachable(pe, fmt.Errorf("PE %d: send: %w", pe, e.ops.Net.Err))
	}
	return st
}

// Join adds a PE to a connected engine. It returns an error, and adds nothing, if the provider
// cannot do that or the PE's window of numbered writes is smaller than that of the others.
// Preconditions: no PE of this number has joined before.
func (e *Engine) Join(pe libshmem.PE, end Endpoint) error {
	net := e.ops.Net
	joiner, ok := net.Provider.(fabric.Joiner)
	if !ok {
		return fmt.Errorf("provider %s: PEs cannot join after others have connected (name another provider)", net.Caps.Provider)
	}
	if window := e.rma.Numbers.Window(); end.Window < window {
		return fmt.Errorf("it has room for %d arriving writes of each PE, and the others for %d (open it with the same settings)", end.Window, window)
	}
	if err := joiner.Join(pe, end.Addr); err != nil {
		return err
	}
	net.addrs[pe] = end.Addr
	net.Remotes[pe] = mem.Remote{Base: end.Base, Key: end.Key, Regions: &mem.RemoteRegions{}}
	return nil
}

// Remove makes a PE lost, as Lose does, and ends its connection, if the provider has connections:
// the PE can neither read nor write memory of this one afterwards.
func (e *Engine) Remove(pe libshmem.PE, reason string) {
	e.Lose(pe, reason)
	if joiner, ok := e.ops.Net.Provider.(fabric.Joiner); ok {
		joiner.Remove(pe)
	}
}

// Uses reports whether the provider may still use memory of operations on a PE, which may have been
// lost.
func (e *Engine) Uses(pe libshmem.PE) (uses bool) {
	e.forEachContext(func(s *Engine) { uses = uses || s.ops.Peers[pe].Tokens > 0 })
	return uses
}

// RemoteRegion is how other PEs reach a region.
type RemoteRegion struct {
	Base, Key, Len uint64 // remote address of its first byte, key for operations on it, and bytes
	GPU            bool   // it is GPU memory
	Direct         bool   // of GPU memory: NICs reach it; otherwise its owner copies the bytes
	Flushes        bool   // with Direct: its owner has to flush what NICs have written
}

// Region is a region of this PE.
type Region struct {
	RemoteRegion
	Number uint32 // names it in the upper bits of offsets (mem.InRegion)
	memory fabric.Region
}

// AddRegion makes n bytes at base a region. Main memory is registered with the fabric. The bytes of
// GPU memory go through the GPU stage at both sides, unless RegisterGPU lets NICs reach it.
func (e *Engine) AddRegion(base unsafe.Pointer, n uint64) (*Region, error) {
	net := e.ops.Net
	r := &Region{RemoteRegion: RemoteRegion{Len: n, GPU: e.gpu != nil && e.gpu.Holds(base, n)}}
	if !r.GPU {
		var err error
		if r.memory, err = net.Provider.Register(base, n); err != nil {
			return nil, err
		}
	}
	var ok bool
	if r.Number, ok = net.Segment.Regions.Add(base, n, r.GPU); !ok {
		_ = e.unregister(r) // it was registered a moment ago
		return nil, fmt.Errorf("there are %d regions already", mem.MaxRegions)
	}
	r.Key = r.memory.Key
	if net.Caps.VirtualAddress {
		r.Base = uint64(uintptr(base))
	}
	return r, nil
}

// RegisterGPU registers memory m, which contains a region of GPU memory that begins at base, with
// the fabric, so that NICs reach the region. RegisterGPU is called before other PEs know the
// region.
func (e *Engine) RegisterGPU(r *Region, base unsafe.Pointer, m fabric.GPUMemory) error {
	x, err := e.gpu.RegisterRegion(r.Number, base, r.Len, m)
	if err != nil {
		return err
	}
	r.Base, r.Key, r.Direct, r.Flushes = x.Remote, x.Key, true, e.gpu.MustFlush()
	return nil
}

// KeepWords makes the engine remember the values of a region's words of 8 bytes in GPU memory, so
// that it need not read a word before an atomic operation. The caller promises that from now on
// only operations of PEs change these words.
func (e *Engine) KeepWords(r *Region) { e.ops.Net.Segment.Regions.KeepWords(r.Number) }

// RemoveRegion ends a region. Its number may name another region from now on, so no PE may use it
// any more.
func (e *Engine) RemoveRegion(r *Region) error {
	e.ops.Net.Segment.Regions.Remove(r.Number)
	return e.unregister(r)
}

// unregister ends the registration of a region, if it has one.
func (e *Engine) unregister(r *Region) error {
	switch {
	case r.Direct:
		return e.gpu.UnregisterRegion(r.Number)
	case r.GPU:
		return nil
	}
	return e.ops.Net.Provider.Unregister(r.memory)
}

// SetRegion sets how the fabric reaches a region of another PE, before the first operation on it.
func (e *Engine) SetRegion(pe libshmem.PE, number uint32, r *RemoteRegion) {
	e.ops.Net.Remotes[pe].Regions.Set(number, r.Base, r.Key, r.GPU)
	if e.gpu == nil {
		return
	}
	var x *gpustage.Extent
	if r.Direct {
		x = &gpustage.Extent{Size: r.Len, Remote: r.Base, Key: r.Key}
	}
	e.gpu.SetRegion(pe, number, x, r.Flushes)
}
