package proxy

import "libshmem/runtime/proxy/gpuwork"

// What is said of the streams of a GPU is gpuwork's.
type (
	Stream = gpuwork.Stream
	Undone = gpuwork.Undone
	errand = gpuwork.Errand
)

// The streams, and what the driver is asked for.
const (
	StreamIn   = gpuwork.StreamIn
	StreamOut  = gpuwork.StreamOut
	StreamPeer = gpuwork.StreamPeer
	StreamWord = gpuwork.StreamWord
	Streams    = gpuwork.Streams

	errandPut    = gpuwork.Put
	errandServe  = gpuwork.Serve
	errandGet    = gpuwork.Get
	errandCame   = gpuwork.Came
	errandMark   = gpuwork.Mark
	errandFollow = gpuwork.Follow
	errandHolds  = gpuwork.Holds
)
