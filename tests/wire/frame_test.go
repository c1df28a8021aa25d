package wire

import "encoding/binary"

// Lengths of headers of Ethernet and of IP without options.
const etherBytes, ipBytes = 14, 20

// segment is a frame of Ethernet that has a segment of TCP over IPv4.
type segment struct {
	frame   []byte
	tcp     []byte // its header, and the payload
	payload []byte
}

// parse returns the segment in a frame; false: the frame has none.
func parse(frame []byte) (s segment, ok bool) {
	if len(frame) < etherBytes+ipBytes+20 || binary.BigEndian.Uint16(frame[12:]) != 0x0800 || frame[etherBytes] != 0x45 || frame[etherBytes+9] != 6 {
		return s, false
	}
	end := etherBytes + int(binary.BigEndian.Uint16(frame[etherBytes+2:]))
	if end > len(frame) || end < etherBytes+ipBytes+20 {
		return s, false
	}
	s.frame, s.tcp = frame[:end], frame[etherBytes+ipBytes:end]
	header := int(s.tcp[12]>>4) * 4
	if header < 20 || header > len(s.tcp) {
		return s, false
	}
	s.payload = s.tcp[header:]
	return s, true
}

// Flags of TCP.
const (
	flagSyn = 1 << 1
	flagRst = 1 << 2
	flagAck = 1 << 4
)

func (s *segment) has(flag byte) bool   { return s.tcp[13]&flag != 0 }
func (s *segment) from() uint16         { return binary.BigEndian.Uint16(s.tcp) }
func (s *segment) to() uint16           { return binary.BigEndian.Uint16(s.tcp[2:]) }
func (s *segment) number() uint32       { return binary.BigEndian.Uint32(s.tcp[4:]) }
func (s *segment) setNumber(n uint32)   { binary.BigEndian.PutUint32(s.tcp[4:], n) }
func (s *segment) acknowledges() uint32 { return binary.BigEndian.Uint32(s.tcp[8:]) }
func (s *segment) acknowledge(n uint32) { binary.BigEndian.PutUint32(s.tcp[8:], n) }
func (s *segment) addresses() []byte    { return s.frame[etherBytes+12 : etherBytes+20] }
func (s *segment) flags(f byte)         { s.tcp[13] = f }

// with returns a copy of the segment with another payload.
func (s *segment) with(payload []byte) segment {
	frame := append(append([]byte(nil), s.frame[:len(s.frame)-len(s.payload)]...), payload...)
	binary.BigEndian.PutUint16(frame[etherBytes+2:], uint16(len(frame)-etherBytes))
	ip := frame[etherBytes : etherBytes+ipBytes]
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip)))
	c, _ := parse(frame)
	return c
}

// reply returns a reset that the other side of a connection could have sent.
func (s *segment) reply() segment {
	r := s.with(nil)
	copy(r.frame[0:6], s.frame[6:12])
	copy(r.frame[6:12], s.frame[0:6])
	copy(r.frame[etherBytes+12:], s.frame[etherBytes+16:etherBytes+20])
	copy(r.frame[etherBytes+16:], s.frame[etherBytes+12:etherBytes+16])
	copy(r.tcp[0:2], s.tcp[2:4])
	copy(r.tcp[2:4], s.tcp[0:2])
	r.setNumber(s.acknowledges())
	r.acknowledge(s.number())
	r.flags(flagRst | flagAck)
	return r
}

// seal sets the checksum of a segment that was changed.
func (s *segment) seal() {
	s.tcp[16], s.tcp[17] = 0, 0
	binary.BigEndian.PutUint16(s.tcp[16:], ^fold(sum(s.addresses())+6+uint64(len(s.tcp))+sum(s.tcp)))
}

func sum(b []byte) (n uint64) {
	for ; len(b) > 1; b = b[2:] {
		n += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		n += uint64(b[0]) << 8
	}
	return n
}

func fold(n uint64) uint16 {
	for n > 0xffff {
		n = n>>16 + n&0xffff
	}
	return uint16(n)
}
