package layout

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"libshmem"
)

// TokenOf returns the job word of a message of n bytes to a PE: the job's token, combined with the
// message's seal if the job has seals. A seal is a keyed hash by which the target notices a change
// on the way: SipHash with one round for each word and three at the end, whose initial constants
// these are. It hashes the header, with the PE and n instead of the job word, and the payload unless
// leavesPayloadOut: changes in the program's own bytes are not noticed. The n bytes are contiguous in
// memory, the header first. fastpath/seal.h is the same in C.
func (s *State) TokenOf(h *Header, to libshmem.PE, n int) uint64 {
	if s.Seal == [2]uint64{} {
		return s.Job
	}
	v := sipHash{s.Seal[0] ^ 0x736f6d6570736575, s.Seal[1] ^ 0x646f72616e646f6d, s.Seal[0] ^ 0x6c7967656e657261, s.Seal[1] ^ 0x7465646279746573}
	m := unsafe.Slice((*byte)(unsafe.Pointer(h)), n)
	for at := 0; at < HeaderSize; at += 8 {
		word := binary.NativeEndian.Uint64(m[at:])
		if at == int(unsafe.Offsetof(h.Job)) {
			word = uint64(to)<<32 | uint64(n)
		}
		v.add(word)
	}
	if !s.leavesPayloadOut(h) {
		at := HeaderSize
		for ; at+8 <= n; at += 8 {
			v.add(binary.NativeEndian.Uint64(m[at:]))
		}
		if at < n {
			var rest [8]byte
			copy(rest[:], m[at:])
			v.add(binary.NativeEndian.Uint64(rest[:]))
		}
	}
	v[2] ^= 0xff
	v.round()
	v.round()
	v.round()
	return s.Job ^ v[0] ^ v[1] ^ v[2] ^ v[3]
}

// leavesPayloadOut reports whether the seal leaves the payload out, because the payload has only
// bytes of the program or text for a report. The internal area, at negative offsets, is different:
// PEs agree there by puts on what shmem_malloc returns, and only the rounds of reductions have
// elements of the program.
func (s *State) leavesPayloadOut(h *Header) bool {
	return (h.Kind == KindPut || h.Kind == KindPutSignal) && s.ofProgram(h.Offset) || h.Kind == KindData || h.Kind == KindActivityReply
}

// ofProgram reports whether an offset is in the user heap, or in the internal area where reductions
// have elements of the program.
func (s *State) ofProgram(offset libshmem.Offset) bool {
	return offset >= 0 || uint64(offset)+s.RoundsOffset < s.RoundsSize
}

// sipHash is the state of SipHash-1-3.
type sipHash [4]uint64

// add hashes one word of the message.
func (s *sipHash) add(word uint64) {
	s[3] ^= word
	s.round()
	s[0] ^= word
}

// round performs one round of SipHash.
func (s *sipHash) round() {
	a, b, c, d := s[0], s[1], s[2], s[3]
	a += b
	c += d
	b = bits.RotateLeft64(b, 13) ^ a
	d = bits.RotateLeft64(d, 16) ^ c
	a = bits.RotateLeft64(a, 32)
	c += b
	a += d
	b = bits.RotateLeft64(b, 17) ^ c
	d = bits.RotateLeft64(d, 21) ^ a
	s[0], s[1], s[2], s[3] = a, b, bits.RotateLeft64(c, 32), d
}
