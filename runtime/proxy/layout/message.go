package layout

import (
	"fmt"

	"libshmem"
	"libshmem/fabric"
)

// Set fills a header, except for the fields that stampAndSend adds when the message is sent. The
// message requests no reply.
func (h *Header) Set(k Kind, op fabric.Op, width uint8, offset libshmem.Offset, operand, extra uint64) {
	h.Kind, h.Op, h.Width, h.Fetch = k, op, width, 0
	h.Token, h.Offset, h.Operand, h.Extra = 0, offset, operand, extra
}

// EpochToken returns the token of a put that is sent in an epoch of this context, alone or with a
// signal. Two puts of one PE with the same token have no fence between them, if both are in one GPU
// stream of the target at the same time: so the target may put the bytes of one in place before the
// signal of the other. With a token of 0, which is rare, nothing is known about fences.
func (s *State) EpochToken(epoch uint64) uint32 {
	return s.Me>>ContextShift<<EpochBits | uint32(epoch+1)&(1<<EpochBits-1)
}

// kindNames has the name of each kind of message, for the text of an event.
var kindNames = [...]string{
	KindAMO: "atomic", KindStore: "element", KindPut: "put", KindPutSignal: "put with signal", KindFlush: "flush", KindReply: "reply",
	KindRequestToSend: "request to send", KindFinished: "finished", KindFetch: "fetch", KindData: "data", KindExtent: "extent", KindPing: "ping",
	KindSequence: "sequence stream wanted", KindSequenced: "sequence stream", KindVoid: "void", KindBatch: "batch",
	KindActivityRequest: "activity request", KindActivityReply: "activity reply", KindMember: "member message",
}

// String returns the name of a kind of message, for the text of an event.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
