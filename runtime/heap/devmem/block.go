package devmem

import (
	"errors"

	"libshmem/runtime/gpu"
	"libshmem/runtime/heap/fdpass"
	"libshmem/runtime/shmerr"
)

// block is this PE's heap, if heaps are shared by IPC handles, and its mappings of the other PEs'
// heaps.
type block struct {
	own   gpu.Address   // of the allocation, in which the heap may begin behind the start
	peers []gpu.Address // by index: where this PE has opened the allocation of another PE; 0: not
}

// openBlock allocates this PE's heap, sends the IPC handle of the heap to the other PEs, and opens
// their heaps. err is an error that this PE already has: it then allocates nothing, and sends the
// error. In openBlock news is the part of the errors that the other PEs do not know yet (agree).
func (s *Segment) openBlock(err error) error {
	s.block.peers = make([]gpu.Address, len(s.plan.PEs))
	var offer whole
	if err == nil {
		offer, err = s.allocate()
	}
	n := note{Whole: &offer}
	n.fail(err)
	replies, news := s.links.exchange(n, nil)
	for i := range replies {
		fdpass.CloseAll(replies[i].files)
		err = errors.Join(err, s.links.fault(i, replies[i].note))
	}
	for i := range replies {
		if i != s.plan.Me && err == nil && news == nil {
			news = s.openPeer(i, replies[i].note)
		}
	}
	if err = s.links.agree(errors.Join(err, news), news); err != nil {
		err = errors.Join(err, s.closePeers())
		// No PE may free its heap while another PE has it open.
		if s.links.broken == nil {
			err = errors.Join(err, s.links.agree(nil, nil))
		}
		return errors.Join(err, s.free())
	}
	s.committed = s.plan.Size
	return nil
}

// allocate allocates this PE's heap, and makes an IPC handle of the memory. The driver aligns large
// blocks to 2 MiB. Where the heap needs a larger alignment, allocate requests a larger block at
// once: after a first block of the exact size, the GPU might not have room for a second one.
func (s *Segment) allocate() (whole, error) {
	const driverAlign = 2 << 20
	extra := s.plan.Align - min(s.plan.Align, driverAlign)
	a, err := s.dev.Alloc(roundUp(s.plan.Size, driverAlign) + extra)
	if err != nil {
		return whole{}, err
	}
	s.block.own = a
	begin := roundUp(uint64(a), s.plan.Align) - uint64(a)
	if begin > extra {
		return whole{}, &shmerr.Error{Op: "allocate", Object: "the symmetric heap on " + s.dev.Name(), Cause: shmerr.Causef(shmerr.ErrSystem, "%#x is no multiple of %d", uint64(a), driverAlign)}
	}
	s.heaps[s.plan.Me] = a + gpu.Address(begin)
	shared, err := s.dev.Share(a)
	return whole{shared[:], begin}, err
}

// openPeer maps the heap of PEs[i] by the IPC handle in its note, if this GPU has a path to it.
func (s *Segment) openPeer(i int, n note) error {
	var shared gpu.Shared
	if n.Whole == nil || copy(shared[:], n.Whole.Shared) != len(shared) {
		return s.noPath(i, shmerr.Causef(shmerr.ErrVersion, "it offers none"))
	}
	if s.why[i] != nil {
		return nil
	}
	a, err := s.dev.OpenShared(shared)
	if err != nil {
		// VMM was tried before IPC, so now only the network reaches that heap.
		s.why[i] = s.noPath(i, err)
		return nil
	}
	s.block.peers[i] = a
	s.heaps[i] = a + gpu.Address(n.Whole.Begin)
	return nil
}

// closePeers unmaps the other PEs' heaps.
func (s *Segment) closePeers() error {
	var errs []error
	for i, a := range s.block.peers {
		if a != 0 {
			errs = append(errs, s.dev.CloseShared(a))
			s.block.peers[i], s.heaps[i] = 0, 0
		}
	}
	return errors.Join(errs...)
}

// free frees the memory of this PE's heap, after the other PEs have unmapped it.
func (s *Segment) free() error {
	if s.block.own == 0 {
		return nil
	}
	err := s.dev.Free(s.block.own)
	s.block.own, s.heaps[s.plan.Me] = 0, 0
	return err
}

// closeBlock closes heaps that are shared by IPC: it unmaps those of the others, waits until all
// PEs have done so, and frees its own.
func (s *Segment) closeBlock() error {
	err := s.closePeers()
	if s.links.broken == nil {
		err = errors.Join(err, s.links.agree(nil, nil))
	}
	return errors.Join(err, s.free())
}
