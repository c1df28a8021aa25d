package layout

import (
	"fmt"

	"libshmem"
	"libshmem/fabric"
)

// Set fills a message but for the fields that send adds. It asks for no answer.
func (h *Header) Set(k Kind, op fabric.Op, width uint8, offset libshmem.Offset, operand, extra uint64) {
	h.Kind, h.Op, h.Width, h.Fetch = k, op, width, 0
	h.Token, h.Offset, h.Operand, h.Extra = 0, offset, operand, extra
}

// EpochToken is the token of a put that is sent in an epoch of this context, alone or with a
// signal. No fence lies between two puts of one PE with the same token, while they are in one
// stream of a GPU at the target: bytes may be in place before the signals of the others. Not 0 in
// general, which says nothing.
func (s *State) EpochToken(epoch uint64) uint32 {
	return s.Me>>ContextShift<<EpochBits | uint32(epoch+1)&(1<<EpochBits-1)
}

// kindNames has the names of messages for a record.
var kindNames = [...]string{
	KindAMO: "atomic", KindStore: "element", KindPut: "put", KindPutSignal: "put with signal", KindFlush: "how far are you", KindReply: "answer",
	KindRequestToSend: "request to send", KindFinished: "finished", KindFetch: "fetch", KindData: "data", KindExtent: "extent", KindPing: "ping",
	KindSequence: "sequence stream wanted", KindSequenced: "sequence stream", KindVoid: "void", KindBatch: "batch",
	KindActivityRequest: "activity request", KindActivityReply: "activity reply",
}

// String returns the name of messages of a kind for a record.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
