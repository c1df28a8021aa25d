package mesh

import (
	"bytes"
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmerr"
)

// TestStranger has a process that knows everything but the secret: the blobs of two members, the
// number of one of them, and the region. It gets no answer from the other, and changes nothing.
func TestStranger(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, nil)
	there := memory(t, 4096)
	region, err := a.Register(unsafe.Pointer(&there[0]), 4096)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := b.readAddress(a.Address())
	if err != nil {
		t.Fatal(err)
	}
	introduce(t, a, b)
	stranger := open(t, 1, 2, func(o *Options) {
		o.Secret, o.Timeout = []byte("what the stranger takes for the secret"), 500*time.Millisecond
	})
	_, err = stranger.Add(a.Address())
	wants(t, err, shmerr.ErrArgument, "another secret")
	_, _, err = stranger.Import(region.Describe())
	wants(t, err, shmerr.ErrArgument, "another secret")
	// It leaves out the checks of its own library.
	stranger.e.WithLock(func() { err = stranger.add(&seen) })
	if err != nil {
		t.Fatal(err)
	}
	_, req, err := stranger.Import(stranger.sealRegion(&regionBlob{Member: 0, Instance: a.instance, ID: region.id, Len: 4096}))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, req.Wait(patience), shmerr.ErrPeerLost, "member 0 ")
	a.e.WithLock(func() {
		if len(region.users) > 0 || a.e.Report.Refused() == 0 {
			t.Errorf("the region has users %v, and %d requests were refused", region.users, a.e.Report.Refused())
		}
	})
	// The member whose number it took still works.
	remote := take(t, b, region)
	source := memory(t, 4096)
	pattern(source, 1)
	put, err := b.Put(0, remote, []Block{block(source, 0)}, nil, false)
	await(t, put, err)
	flush, err := b.Flush(0, 0)
	await(t, flush, err)
	if !bytes.Equal(there, source) {
		t.Error("the member whose number it took has put other bytes")
	}
}

// TestMisuse has a member name memory that is in no region of another: the other gives it up, and
// nothing changes there.
func TestMisuse(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, nil)
	introduce(t, a, b)
	there := memory(t, 4096)
	_, remote := share(t, a, b, there[:64])
	source := memory(t, 4096)
	pattern(source, 1)
	b.e.WithLock(func() { b.members[0].imports[remote.id.Number].len = 4096 })
	req, err := b.Put(0, remote, []Block{block(source[:8], 64)}, nil, false)
	await(t, req, err)
	until(t, "the loss of the member", func() bool { return a.Status(1) != nil })
	wants(t, a.Status(1), shmerr.ErrPeerLost, "member 1 has sent 8 bytes for offset")
	if word(there, 64) != 0 {
		t.Error("bytes outside of the region have changed")
	}
	until(t, "the loss at the other end", func() bool { return b.Status(0) != nil })
}

// TestNonsense has a member send messages that no member sends: it is given up.
func TestNonsense(t *testing.T) {
	for _, nonsense := range [][]byte{{1, 2, 3}, make([]byte, controlSize), (&message{kind: importReply, number: 7}).bytes()} {
		a, b := open(t, 0, 2, nil), open(t, 1, 2, nil)
		introduce(t, a, b)
		b.e.WithLock(func() {
			for b.e.SendMember(libshmem.PE(0), nonsense) == proxy.Again {
				b.poll()
			}
		})
		until(t, "the loss of the member", func() bool { return a.Status(1) != nil })
		wants(t, a.Status(1), shmerr.ErrPeerLost, "member 1 has ")
	}
}
