package devmem

import (
	"errors"

	"libshmem/runtime/gpu"
	"libshmem/runtime/heap/fdpass"
	"libshmem/runtime/shmerr"
)

// block is a heap that is shared by IPC handles.
type block struct {
	own   gpu.Address   // of the allocation; the heap may begin behind it
	peers []gpu.Address // opened, by index
}

// openBlock allocates the own heap and opens the heaps of the others.
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

// allocate gets the own heap. The driver aligns large blocks to 2 MiB; where the heap needs more
// alignment, the block is larger, which is not tried first: two blocks of the size of a heap need
// not fit.
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

// openPeer maps the heap of PEs[i], if there is a path to it.
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
		// The last path failed: only the network is left.
		s.why[i] = s.noPath(i, err)
		return nil
	}
	s.block.peers[i] = a
	s.heaps[i] = a + gpu.Address(n.Whole.Begin)
	return nil
}

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

func (s *Segment) free() error {
	if s.block.own == 0 {
		return nil
	}
	err := s.dev.Free(s.block.own)
	s.block.own, s.heaps[s.plan.Me] = 0, 0
	return err
}

// closeBlock is Close by IPC.
func (s *Segment) closeBlock() error {
	err := s.closePeers()
	if s.links.broken == nil {
		err = errors.Join(err, s.links.agree(nil, nil))
	}
	return errors.Join(err, s.free())
}
