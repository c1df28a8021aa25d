package layout

// MessageSize is the largest active message. 4 KiB keeps a put that is worth a
// copy within one message and the receive buffers at half a megabyte.
const MessageSize = 4096

// MaxPayload is the largest put that travels as a message.
const MaxPayload = MessageSize - HeaderSize

// Tokens of an endpoint: those of its receive buffers, where there are no more, and then those of
// operations under way.
const (
	Receives = 64
	Tokens   = Receives + 512
)

// Values of State.Busy.
const (
	BusyCopies = 1 // a stream of a GPU has work
	BusyRoom   = 2 // something of GPU memory waits for room
)
