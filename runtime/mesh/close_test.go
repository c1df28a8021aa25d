package mesh

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"
)

// TestCloseDelivers closes a mesh right after it has begun more puts with signals than the network
// takes at once. All of them take effect at the target, although nobody has waited for them.
func TestCloseDelivers(t *testing.T) {
	const size, puts, n = 4 << 20, 500, 8000
	there, here := newFakeGPU(t, size), newFakeGPU(t, size)
	a, b := openWithGPU(t, 0, 2, here), openWithGPU(t, 1, 2, there)
	introduce(t, a, b)
	_, remote := share(t, b, a, there.device)
	pattern(here.bytes, 7)
	for i := range puts {
		at := 64 + i*n
		_, err := a.Put(0, remote, []Block{{Local: unsafe.Pointer(unsafe.Add(unsafe.Pointer(&here.device[0]), at)), Offset: uint64(at), Len: n}},
			&Signal{Region: remote, Offset: 8, Op: Add, Value: 1}, i%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "the leaving of member 0", func() bool { return b.Status(0) != nil })
	if got := binary.LittleEndian.Uint64(there.bytes[8:]); got != puts {
		t.Errorf("%d of %d signals have taken effect", got, puts)
	}
	if !bytes.Equal(there.bytes[64:64+puts*n], here.bytes[64:64+puts*n]) {
		t.Error("bytes of puts are missing")
	}
}
