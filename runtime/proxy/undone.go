package proxy

import "libshmem/runtime/proxy/backlog"

// What is said of the streams of a GPU is backlog's.
type (
	Stream = backlog.Stream
	Undone = backlog.Work
	errand = backlog.Call
)

// The streams, and what the driver is asked for.
const (
	StreamIn   = backlog.StreamIn
	StreamOut  = backlog.StreamOut
	StreamPeer = backlog.StreamPeer
	StreamWord = backlog.StreamWord
	Streams    = backlog.Streams

	errandPut    = backlog.CallPut
	errandServe  = backlog.CallServe
	errandGet    = backlog.CallGet
	errandCame   = backlog.CallCame
	errandMark   = backlog.CallMark
	errandFollow = backlog.CallFollow
	errandHolds  = backlog.CallHolds
)
