package proxy

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// Engine is the engine of a Sender.
type senderEngine interface {
	// Unreachable handles a PE that the network has given up.
	Unreachable(pe libshmem.PE, err error)
	// Stick notes that an operation found no room: Retry is called when there may be some.
	Stick()
}

// Writes are the one-sided writes of the same context.
type senderWrites interface {
	// Meet prepares for a PE before the first operation on it.
	Meet(p *layout.Peer)
	// Resume posts a write that has waited in a queue; call.Again: it still has to wait.
	Resume(t fabric.Token, s *Record, p *layout.Peer) call.Status
}

// GPU is what a Sender needs of the engine's GPU.
type senderGPU interface {
	// MustFollow reports whether an operation of an epoch on a PE has to wait for bytes that were
	// posted before a fence.
	MustFollow(pe libshmem.PE, epoch uint64) bool
	// Leave begins a queued put whose turn has come.
	Leave(t fabric.Token) call.Status
}
