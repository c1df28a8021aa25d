package layout

import (
	"structs"
	"unsafe"
)

// Offer is the payload of a message of KindOffer.
type Offer struct {
	_     structs.HostLayout
	N     uint64
	Fence uint32 // epoch of the sender: offers of one are not ordered
	Get   uint32 // question of the get; 0: a put
}

// OfferSize is how many bytes it has.
const OfferSize = 16

// ChunkToken marks the tokens of offers that are chunks.
const ChunkToken = 0x8000

var _ [OfferSize]byte = [unsafe.Sizeof(Offer{})]byte{}
