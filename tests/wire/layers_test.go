package wire

import (
	"encoding/binary"
	"strings"
)

// layer is whose byte it is that an attack changes.
type layer int

const (
	theirs  layer = iota // libfabric's headers, and its messages that make a connection
	ours                 // a message of this library, without the bytes of a put
	offset               // the byte of it that leads a put, an element or an atomic operation up to 64 KiB away
	payload              // the bytes of a put to the user heap, and of one-sided operations
	layers
)

func (l layer) String() string {
	return [...]string{"libfabric's header", "this library's message", "an offset", "payload"}[l]
}

// Bytes of headers: of libfabric's messages over TCP, where each says its own length and that of the
// message, of ofi_rxm's within, and of this library's within.
const (
	baseBytes = 16
	rxmBytes  = 64
	ourBytes  = 56
)

// message is one of libfabric's over TCP.
type message struct{ begin, header, size int }

// split notes the messages that begin in what a host has sent. The first segment of each makes the
// connection.
func (f *flow) split(from int) {
	if len(f.at[from]) < 2 {
		return
	}
	all, sent := f.messages[from], f.sent[from]
	next := f.at[from][1]
	if n := len(all); n > 0 {
		next = all[n-1].begin + all[n-1].size
	}
	for next+baseBytes <= len(sent) {
		m := message{next, int(sent[next+6]), int(binary.LittleEndian.Uint64(sent[next+8:]))}
		if sent[next] != 3 || m.header < baseBytes || m.size < m.header || m.size > 1<<20 {
			break // not a version of libfabric that is known here
		}
		all = append(all, m)
		next += m.size
	}
	f.messages[from] = all
}

// layer returns whose byte is at a position of what a host has sent; false: it is not known.
func (f *flow) layer(provider string, from, at int) (layer, bool) {
	if len(f.at[from]) < 2 || at < f.at[from][1] {
		return theirs, true
	}
	for i := len(f.messages[from]) - 1; i >= 0; i-- {
		m := f.messages[from][i]
		if at < m.begin {
			continue
		}
		if at >= m.begin+m.size {
			return 0, false
		}
		begin := m.begin + m.header
		message := f.sent[from][m.begin+1] == 0
		if message && strings.HasSuffix(provider, ";ofi_rxm") {
			begin += rxmBytes
		}
		switch {
		case at < begin:
			return theirs, true
		case !message:
			return payload, true
		case at >= begin+ourBytes:
			return f.payload(from, begin), true
		case m.begin+m.size < begin+ourBytes:
			return theirs, true // a message of its own
		case at == begin+9 && f.sent[from][begin] <= 4:
			return offset, true
		}
		return ours, true
	}
	return 0, false
}

// payload returns whose the bytes behind a header of this library are.
func (f *flow) payload(from, header int) layer {
	h := f.sent[from][header:]
	if put := h[0] == 3 || h[0] == 4; put && int64(binary.LittleEndian.Uint64(h[8:])) >= 0 {
		return payload
	}
	return ours
}
