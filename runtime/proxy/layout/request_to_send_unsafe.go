package layout

import (
	"structs"
	"unsafe"
)

// RequestToSend is the payload of a message of KindRequestToSend.
type RequestToSend struct {
	_     structs.HostLayout
	N     uint64
	Fence uint32 // epoch of the sender: offers of one are not ordered
	Get   uint32 // question of the get; 0: a put
}

// RequestToSendSize is how many bytes it has.
const RequestToSendSize = 16

// ChunkToken marks the tokens of offers that are chunks.
const ChunkToken = 0x8000

var _ [RequestToSendSize]byte = [unsafe.Sizeof(RequestToSend{})]byte{}
