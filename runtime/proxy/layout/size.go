package layout

// MessageSize is the largest active message. 4 KiB keeps a put that is worth a
// copy within one message and the receive buffers at half a megabyte.
const MessageSize = 4096

// MaxPayload is the largest put that travels as a message.
const MaxPayload = MessageSize - HeaderSize
