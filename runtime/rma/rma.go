// Package rma connects the ranks of a communicator of another library, such as NCCL, by a mesh
// (runtime/mesh: processes that access memory that each has registered). The ranks of such a group
// are known from the beginning, and register memory together. The package owns the steps in which
// all ranks exchange bytes, and what a rank knows of the memory of the others. Package mesh does
// the rest.
//
// The ranks meet by the unique id that rank 0 made when it began to listen (runtime/bootstrap/uid).
// Each step in which all ranks exchange bytes has the timeout of the group, and its error names the
// ranks that are missing. A rank that cannot do its part of a step takes part all the same, and
// tells the others why, so that no rank waits for it.
package rma

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric/chaos"
	"libshmem/fabric/ofi"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/mesh"
	"libshmem/runtime/shmerr"
)

// Options say what a rank has to know about its group.
type Options struct {
	ID       uid.ID // of rank 0's listener
	Rank     int
	Size     int
	Timeout  time.Duration                  // of each step of all ranks, above 0
	Provider string                         // of libfabric; "": the best that works here
	NICs     string                         // comma separated; "": any
	Library  string                         // file of libfabric; "": searched
	Pick     func([]ofi.NIC) ([]int, error) // as mesh.Options.Pick
	GPU      *mesh.GPU                      // of this rank; nil: it has none. The group closes it, also if Connect fails.
	NoGPU    error                          // why GPU is nil, for the error of a registration that needs it
	Log      func(text string)
	Chaos    *chaos.Plan // faults of the network; nil: there are none
	Queue    *Queue      // by which C submits operations, and which is used until Close returns; nil: none are
}

// Group is the group of a communicator's connected ranks, as one rank sees it.
type Group struct {
	Mesh    *mesh.Mesh
	member  *uid.Member
	size    int
	timeout time.Duration // of each step of all ranks
	noGPU   error         // why GPU memory cannot be registered
	queue   queue

	registering sync.Mutex                // held while memories changes; readers only load the pointer
	memories    atomic.Pointer[[]*Memory] // by number from 1; nil: none, or it has ended
}

// Connect connects a rank with the others. All ranks have to call it: each opens a mesh of which it
// is a member, and adds the other ranks to it.
func Connect(o Options) (g *Group, err error) {
	defer func() {
		if err != nil {
			err = &shmerr.Error{Op: "connect", Object: fmt.Sprintf("rank %d of %d", o.Rank, o.Size), Cause: err}
		}
	}()
	member, err := uid.Join(uid.Options{ID: o.ID, PE: libshmem.PE(o.Rank), Size: o.Size, Timeout: o.Timeout, Survives: true, Name: "group"})
	if err != nil {
		return nil, errors.Join(err, o.GPU.Close())
	}
	g = &Group{member: member, size: o.Size, timeout: o.Timeout, noGPU: o.NoGPU}
	g.queue = queue{Queue: o.Queue, group: g}
	if o.Queue == nil {
		g.queue.Queue = new(Queue)
	}
	g.memories.Store(new([]*Memory))
	secret := sha256.Sum256(append([]byte("libshmem group\n"), o.ID[:]...))
	m, openErr := mesh.Open(mesh.Options{
		Member: o.Rank, Members: o.Size, Secret: secret[:], Timeout: o.Timeout, Provider: o.Provider, NICs: o.NICs, Library: o.Library,
		Pick: o.Pick, GPUs: true, GPU: o.GPU, Log: o.Log, Chaos: o.Chaos, Source: &g.queue,
	})
	var address []byte
	if openErr == nil {
		g.Mesh, address = m, m.Address()
	}
	all, err := g.exchange(address, openErr)
	for rank := 0; err == nil && rank < o.Size; rank++ {
		if rank != o.Rank {
			_, err = m.Add(all[rank])
		}
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// The first byte of what a rank sends in an exchange: its part follows, or the reason why it has
// none.
const (
	fine   = 'f'
	failed = 'e'
)

// exchange sends all ranks this rank's part or, if why is not nil, the reason why it has none, and
// returns the parts of all ranks. All ranks have to call it. If ranks have no part, the error is
// that of this rank, or else of the first of them.
func (g *Group) exchange(mine []byte, why error) ([][]byte, error) {
	part := append([]byte{fine}, mine...)
	if why != nil {
		part = append([]byte{failed}, shmerr.OneLine(why)...)
	}
	all, err := g.member.Allgather(part)
	if err != nil {
		return nil, errors.Join(why, err)
	}
	if why != nil {
		return nil, why
	}
	for rank, b := range all {
		if len(b) == 0 || b[0] != fine {
			return nil, shmerr.Causef(shmerr.ErrPeerLost, "rank %d: %s", rank, b[min(1, len(b)):])
		}
		all[rank] = b[1:]
	}
	return all, nil
}

// Memory is memory that all ranks have registered together.
type Memory struct {
	Base    unsafe.Pointer // of this rank's
	Len     uint64
	Remotes []*mesh.Remote // of all ranks; nil where a rank has registered nothing
	Number  uint64         // by which operations name it, from 1
	region  *mesh.Region   // nil: this rank has registered nothing
}

// Kind is the kind of memory that a rank registers.
type Kind struct {
	GPU   bool // it is GPU memory
	Words bool // only signals of ranks change its words, and no kernel does (Region.KeepWords)
}

// Register registers n bytes at base, and imports what the other ranks register. All ranks have to
// call it, and several calls in the same order; their sizes may differ, and n may be 0. An error on
// one rank is an error on all.
func (g *Group) Register(base unsafe.Pointer, n uint64, k Kind) (_ *Memory, err error) {
	defer func() {
		if err != nil {
			err = &shmerr.Error{Op: "register", Object: fmt.Sprintf("%d bytes at %p", n, base), Cause: err}
		}
	}()
	x := &Memory{Base: base, Len: n, Remotes: make([]*mesh.Remote, g.size)}
	var blob []byte
	var registerErr error
	if n > 0 {
		switch x.region, registerErr = g.Mesh.Register(base, n); {
		case registerErr != nil:
		case k.GPU && !x.region.OnGPU():
			registerErr = shmerr.Causef(shmerr.ErrUnsupported, "they are GPU memory, and this rank has not opened its GPU: %v", g.noGPU)
		default:
			blob = x.region.Describe()
		}
		if registerErr == nil && k.Words {
			registerErr = x.region.KeepWords()
		}
	}
	all, err := g.exchange(blob, registerErr)
	if err == nil {
		err = g.importAll(x, all)
	}
	if err == nil {
		// If a rank has failed to import, all have to return an error: otherwise some would have
		// memory that others lack.
		_, err = g.exchange(nil, nil) // nothing to send, and no error
	} else if all != nil {
		_, _ = g.exchange(nil, err) // only for the other ranks: this one returns its own error
	}
	if err != nil {
		return nil, errors.Join(err, g.Unregister(x))
	}
	g.change(func(all []*Memory) []*Memory {
		x.Number = uint64(len(all)) + 1
		return append(all, x)
	})
	return x, nil
}

// change replaces the list of registered memory by what f makes of a copy: the proxy reads the list
// without a lock (remote).
func (g *Group) change(f func(all []*Memory) []*Memory) {
	g.registering.Lock()
	defer g.registering.Unlock()
	all := f(slices.Clone(*g.memories.Load()))
	g.memories.Store(&all)
}

// importAll imports the regions that blobs describe, one of each rank, and waits until all are
// usable. A rank that has registered nothing has an empty blob.
func (g *Group) importAll(x *Memory, blobs [][]byte) error {
	requests := make([]*mesh.Request, len(blobs))
	for rank, blob := range blobs {
		if len(blob) == 0 {
			continue
		}
		var err error
		if x.Remotes[rank], requests[rank], err = g.Mesh.Import(blob); err != nil {
			return err
		}
	}
	for _, req := range requests {
		if req == nil {
			continue
		}
		if err := req.Wait(g.timeout); err != nil {
			return err
		}
	}
	return nil
}

// Unregister begins to close this rank's region of the memory, and does not wait for the other
// ranks: those that have ended must not delay it. A rank that has called it no longer uses the
// memory of the others.
func (g *Group) Unregister(x *Memory) error {
	if x.Number > 0 {
		g.change(func(all []*Memory) []*Memory {
			all[x.Number-1] = nil
			return all
		})
		x.Number = 0
	}
	if x.region == nil {
		return nil
	}
	_, err := x.region.Close()
	x.region = nil
	return err
}

// Close ends this rank's part of the group. It waits for no rank for longer than the timeout of the
// group.
func (g *Group) Close() error {
	var err error
	if g.Mesh != nil {
		err = g.Mesh.Close()
	}
	return errors.Join(err, g.member.Close())
}
