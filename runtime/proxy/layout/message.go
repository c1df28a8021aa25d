package layout

import (
	"fmt"

	"libshmem/fabric"
)

// Set makes all of a message but what send adds. It asks for no answer.
func (h *Header) Set(k Kind, op fabric.Op, width uint8, offset int64, operand, extra uint64) {
	h.Kind, h.Op, h.Width, h.Fetch = k, op, width, 0
	h.Token, h.Offset, h.Operand, h.Extra = 0, offset, operand, extra
}

// kindNames are what messages are called in a record.
var kindNames = [...]string{
	KindAMO: "atomic", KindStore: "element", KindPut: "put", KindPutSignal: "put with signal", KindFlush: "how far are you", KindReply: "answer",
	KindRequestToSend: "offer", KindFinished: "taken", KindFetch: "fetch", KindData: "data", KindExtent: "extent", KindPing: "ping",
	KindSequence: "stream wanted", KindSequenced: "stream", KindVoid: "void", KindBatch: "batch",
	KindAsk: "what do you do", KindTold: "what I do",
}

// String is what messages of a kind are called in a record.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
