package layout

import (
	"structs"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
)

// RequestToSend is the payload of a message of KindRequestToSend. A PE announces with it bytes in
// its registered main memory, which come from or go to GPU memory, and the receiver reads them.
type RequestToSend struct {
	_     structs.HostLayout
	N     uint64
	Fence uint32 // epoch of the sender, the number of its fences so far: requests of one epoch are not ordered
	Get   uint32 // the ID of the get to which it is the reply; 0: it announces puts
}

// RequestToSendSize is the payload's size in bytes.
const RequestToSendSize = 16

// ChunkToken is set in the token of a request to send whose bytes are in a chunk of pinned memory,
// and not in main memory of the heap or the program.
const ChunkToken = 0x8000

var _ [RequestToSendSize]byte = [unsafe.Sizeof(RequestToSend{})]byte{}

// MaxPieces is the largest number of puts whose bytes one request to send announces.
const MaxPieces = 64

// PieceAlign is the alignment of pieces: copy engines are slower at other addresses.
const PieceAlign = 64

// PieceOfSend describes one put whose bytes a request to send announces: one record for each put
// follows the RequestToSend. The bytes of each put begin at a multiple of PieceAlign, after those
// of the put before. RequestToSend.N counts all of them, with the gaps.
type PieceOfSend struct {
	_       structs.HostLayout
	Offset  libshmem.Offset
	Signal  libshmem.Offset // of the signal
	Operand uint64          // of the signal
	N       uint32
	Op      fabric.Op // of the signal
	Signals bool      // the put has a signal
	Order   uint8     // position of the put in the order of posting: signals are applied in that order
	_       byte
}

// PieceOfSendSize is the size of a PieceOfSend in bytes.
const PieceOfSendSize = 32

var _ [PieceOfSendSize]byte = [unsafe.Sizeof(PieceOfSend{})]byte{}

// Requests is the payload of a request to send, with space for the largest number of pieces.
type Requests struct {
	_ structs.HostLayout
	RequestToSend
	Pieces [MaxPieces]PieceOfSend
}

// Size returns the bytes of the payload with n pieces.
func (*Requests) Size(n int) int { return RequestToSendSize + n*PieceOfSendSize }

var _ [MaxPayload - RequestToSendSize - MaxPieces*PieceOfSendSize]struct{} // one message has all pieces
