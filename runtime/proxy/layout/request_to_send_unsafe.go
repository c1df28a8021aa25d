package layout

import (
	"structs"
	"unsafe"
)

// RequestToSend is the payload of a message of KindRequestToSend.
type RequestToSend struct {
	_     structs.HostLayout
	N     uint64
	Fence uint32 // epoch of the sender: requests of one epoch are not ordered
	Get   uint32 // question of the get; 0: a put
}

// RequestToSendSize is the payload's size in bytes.
const RequestToSendSize = 16

// ChunkToken marks the tokens of requests whose bytes are in chunks.
const ChunkToken = 0x8000

var _ [RequestToSendSize]byte = [unsafe.Sizeof(RequestToSend{})]byte{}
