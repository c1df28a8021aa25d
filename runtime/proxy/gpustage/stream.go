package gpustage

import "libshmem/runtime/proxy/backlog"

// Stream is one queue of a Memory. Reports use the same type.
type Stream = backlog.Stream

// The streams.
const (
	StreamIn   = backlog.StreamIn
	StreamOut  = backlog.StreamOut
	StreamPeer = backlog.StreamPeer
	StreamWord = backlog.StreamWord
	Streams    = backlog.Streams
)
