package mesh

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

	"libshmem/runtime/shmerr"
)

// TestBadInput gives calls what they must refuse.
func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		o     Options
		kind  error
		words string
	}{
		{Options{Members: 0, Secret: secretOfTests}, shmerr.ErrArgument, "a mesh for 0 members"},
		{Options{Members: MaxMembers + 1, Secret: secretOfTests}, shmerr.ErrArgument, "state 1 to 65536"},
		{Options{Member: 2, Members: 2, Secret: secretOfTests}, shmerr.ErrPE, "member 2 is not one of 2"},
		{Options{Members: 2, Secret: []byte("short")}, shmerr.ErrArgument, "the secret has 5 bytes"},
		{Options{Members: 2, Secret: secretOfTests, Contexts: 2000}, shmerr.ErrArgument, "2000 contexts"},
		{Options{Members: 2, Secret: secretOfTests, Provider: "tpc"}, shmerr.ErrNoProvider, "tpc"},
	} {
		_, err := Open(c.o)
		wants(t, err, c.kind, c.words)
	}
	a, b := open(t, 0, 2, nil), open(t, 1, 2, nil)
	other := open(t, 1, 2, func(o *Options) { o.Secret = []byte("another secret of 16 bytes") })
	larger := open(t, 1, 3, nil)
	there := memory(t, 4096)
	region, err := a.Register(unsafe.Pointer(&there[0]), 4096)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		blob  []byte
		kind  error
		words string
	}{
		{nil, shmerr.ErrArgument, "the blob is not a member's address"},
		{region.Describe(), shmerr.ErrArgument, "the blob is a region's description"},
		{b.Address()[:50], shmerr.ErrArgument, ""},
		{bytes.Replace(b.Address(), []byte{1, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0, 0, 0}, 1), shmerr.ErrArgument, "another secret, or has changed"},
		{other.Address(), shmerr.ErrArgument, "another secret"},
		{larger.Address(), shmerr.ErrArgument, "it was opened for 3 members"},
		{ofVersion(b.Address()), shmerr.ErrVersion, "the blob is of version"},
	} {
		_, err := a.Add(c.blob)
		wants(t, err, c.kind, c.words)
	}
	_, _, err = b.Import(region.Describe())
	wants(t, err, shmerr.ErrPE, "member 0 was not added")
	introduce(t, a, b)
	second := open(t, 1, 2, nil)
	_, err = a.Add(second.Address())
	wants(t, err, shmerr.ErrArgument, "another process has this number")
	remote := take(t, b, region)
	for _, c := range []struct {
		block   Block
		context int
		signal  *Signal
		kind    error
		words   string
	}{
		{Block{unsafe.Pointer(&there[0]), 4090, 7}, 0, nil, shmerr.ErrRange, "7 bytes at 4090 leave region 0 of member 0, which has 4096"},
		{Block{unsafe.Pointer(&there[0]), 1<<64 - 1, 2}, 0, nil, shmerr.ErrRange, "leave region 0"},
		{Block{unsafe.Pointer(&there[0]), 0, 1<<64 - 1}, 0, nil, shmerr.ErrRange, "leave region 0"},
		{Block{nil, 0, 8}, 0, nil, shmerr.ErrAddress, "block 0 has no local memory"},
		{Block{unsafe.Pointer(&there[0]), 0, 8}, 1, nil, shmerr.ErrArgument, "context 1 is not one of 1"},
		{Block{unsafe.Pointer(&there[0]), 0, 8}, 0, &Signal{Region: remote, Offset: 12}, shmerr.ErrAddress, "not at a multiple of 8"},
		{Block{unsafe.Pointer(&there[0]), 0, 8}, 0, &Signal{Region: remote, Offset: 4096}, shmerr.ErrRange, "8 bytes at 4096"},
		{Block{unsafe.Pointer(&there[0]), 0, 8}, 0, &Signal{Region: remote, Op: 7}, shmerr.ErrArgument, "no operation 7"},
	} {
		_, err := b.Put(c.context, remote, []Block{c.block}, c.signal, false)
		wants(t, err, c.kind, c.words)
	}
	_, err = a.Register(unsafe.Pointer(&there[4]), 8)
	wants(t, err, shmerr.ErrAddress, "not a multiple of 8")
	_, err = a.Register(unsafe.Pointer(&there[0]), 0)
	wants(t, err, shmerr.ErrRange, "a region has 1 to")
	_, err = a.Flush(0, 5)
	wants(t, err, shmerr.ErrPE, "member 5 is not one of 2")
	req, err := region.Close()
	await(t, req, err)
	_, err = region.Close()
	wants(t, err, ErrClosed, "closed already")
}

// ofVersion changes the version in a blob.
func ofVersion(blob []byte) []byte {
	b := bytes.Clone(blob)
	n := binary.LittleEndian.Uint64(b[len(addressKind):])
	copy(b[len(addressKind)+8:], strings.Repeat("9", int(n)))
	return b
}

// TestClosedMesh: calls of a closed mesh, and requests that were under way, end with an error.
func TestClosedMesh(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, nil)
	if _, err := b.Add(a.Address()); err != nil {
		t.Fatal(err)
	}
	req, err := b.Flush(0, 0) // a does not know b
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wants(t, req.Wait(patience), ErrClosed, "the mesh is closed")
	_, err = b.Flush(0, 0)
	wants(t, err, ErrClosed, "the mesh is closed")
}
