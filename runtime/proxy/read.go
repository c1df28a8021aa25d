package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// Read posts a one-sided read of n bytes at an offset in the heap of a PE. It returns Again if the
// PE has no credit, no token is free or the provider's queue is full. dest outside the symmetric
// segment is registered first if the provider demands that. The read completes for r or, if r is
// nil, for quiets.
func (x *transfers) Read(pe libshmem.PE, offset libshmem.Offset, dest unsafe.Pointer, n uint64, r *call.Request) call.Status {
	p := &x.Peers[pe]
	switch {
	case !p.Reachable && !x.Messages.startPeer(pe, p):
		return x.Net.Fail(x.Net.Unreachable(pe))
	case !x.HasRoom(pe, p, n):
		return call.Again
	}
	t, s := x.AllocateToken(useRead, p, pe)
	if s == nil {
		return call.Again
	}
	s.Request = r
	op := x.describeTransfer(p, pe, offset, dest, n, t)
	if x.Net.Segment.Contains(dest, n) {
		op.Desc = x.Net.Region.Desc
	} else if st := x.localRegion(s, op); st != call.Done {
		x.ReleaseToken(t)
		return st
	}
	if err := x.Net.Provider.Read(op); err != nil {
		if s.Registered {
			x.Deregister(s, false) // false: no bytes have come
		}
		x.ReleaseToken(t)
		return x.StatusOfRefusal(pe, p, err)
	}
	x.Table.CountBytes(s, p, n)
	x.Recorder.Note(pe, layout.EventRead, uint32(t), uint32(n))
	p.Count[layout.Reads]++
	p.Count[layout.ReadBytes] += n
	if r == nil {
		x.Quiets.Pending[s.Parity]++
	}
	return call.Pending
}

// CompleteRead completes a read, for its request or for quiets. If its bytes went to GPU memory
// (s.Flush), NIC writes are flushed first, so that the GPU sees them. The caller frees the token.
func (x *transfers) CompleteRead(s *record) {
	var status int32
	if s.Registered {
		status = x.Deregister(s, true) // true: the bytes are complete
	}
	if s.Flush {
		x.GPU.Flush()
	}
	if s.Request != nil {
		x.Complete(s.Request, status, 0)
	} else {
		x.Quiets.Pending[s.Parity]--
	}
}

// Pull posts a one-sided read for the GPU stage, which has registered the local memory and knows
// the remote address and key. The stage gets the completion with the token that Pull returns.
func (x *transfers) Pull(pe libshmem.PE, remote, key uint64, to unsafe.Pointer, n uint64, desc uintptr) (fabric.Token, call.Status) {
	p := &x.Peers[pe]
	t, s := x.AllocateToken(usePull, p, pe)
	if s == nil {
		return 0, call.Again
	}
	op := &x.moving
	op.PE, op.Token, op.Local, op.Len, op.Desc = pe, t, to, n, desc
	op.Remote, op.Key = remote, key
	if err := x.Net.Provider.Read(op); err != nil {
		x.ReleaseToken(t)
		return 0, x.StatusOfRefusal(pe, p, err)
	}
	p.Count[layout.Reads]++
	p.Count[layout.ReadBytes] += n
	return t, call.Done
}
