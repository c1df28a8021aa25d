package mesh

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/shmerr"
)

var secretOfTests = []byte("the secret of the tests of a mesh")

// patience is how long tests wait for what should come.
const patience = 10 * time.Second

// onLibrary is the variable with a libfabric to use in place of the machine's; SHMEM_PROVIDER then
// has the provider.
const onLibrary = "MESH_TEST_LIBRARY"

// open opens a mesh for a test. change may change its options.
func open(t testing.TB, number, most int, change func(o *Options)) *Mesh {
	t.Helper()
	o := Options{Member: number, Members: most, Secret: secretOfTests, Provider: "tcp"}
	if library := os.Getenv(onLibrary); library != "" {
		o.Library, o.Provider = library, os.Getenv("SHMEM_PROVIDER")
	}
	if change != nil {
		change(&o)
	}
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// introduce adds each of some members to all others.
func introduce(t testing.TB, all ...*Mesh) {
	t.Helper()
	for _, a := range all {
		for _, b := range all {
			if a != b {
				if n, err := a.Add(b.Address()); err != nil || n != b.Member() {
					t.Fatalf("member %d adds member %d: %d, %v", a.Member(), b.Member(), n, err)
				}
			}
		}
	}
}

// memory maps n bytes to register. They stay mapped: a put may arrive until the test's meshes are
// closed, and clean-ups of what a test makes later come before.
func memory(t testing.TB, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pattern fills memory with bytes that differ by seed and place.
func pattern(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed*31)
	}
}

// share makes memory of one member a region of it, and imports it at another.
func share(t testing.TB, owner, user *Mesh, b []byte) (*Region, *Remote) {
	t.Helper()
	r, err := owner.Register(unsafe.Pointer(&b[0]), uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return r, take(t, user, r)
}

// take imports a region.
func take(t testing.TB, user *Mesh, r *Region) *Remote {
	t.Helper()
	remote, req, err := user.Import(r.Describe())
	if err != nil {
		t.Fatal(err)
	}
	await(t, req)
	return remote
}

// await waits for a request that has to end well.
func await(t testing.TB, req *Request, err ...error) {
	t.Helper()
	if err := errors.Join(err...); err != nil {
		t.Fatal(err)
	}
	if err := req.Wait(patience); err != nil {
		t.Fatal(err)
	}
}

// block is all of b, for an offset in a region.
func block(b []byte, offset int) Block {
	return Block{Local: unsafe.Pointer(&b[0]), Offset: uint64(offset), Len: uint64(len(b))}
}

// word returns a word of a region as a signal's reader sees it.
func word(b []byte, at int) uint64 { return atomic.LoadUint64((*uint64)(unsafe.Pointer(&b[at]))) }

// until waits until a condition holds.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s has not come", what)
		}
	}
}

// wants checks that an error is of a kind, and that its text has some words.
func wants(t testing.TB, err, kind error, words string) {
	t.Helper()
	if err == nil || !errors.Is(err, kind) || !strings.Contains(err.Error(), words) {
		t.Errorf("the error is %v, want a kind of %q with %q in it", err, kind, words)
	}
}

// TestPutGet moves blocks of many sizes to another member and back, to this member itself, too.
func TestPutGet(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, func(o *Options) { o.Contexts = 3 })
	introduce(t, a, b)
	const size = 3 << 20
	there, source, back := memory(t, size), memory(t, size), memory(t, size)
	_, remote := share(t, a, b, there)
	for round, n := range []int{1, 8, 7, 64, 4040, 4041, 4096, 4104, 65536, 1<<20 + 3} {
		context := round % 3
		pattern(source[:2*n], round)
		at := []int{8 * round, 3<<19 + 5}
		req, err := b.Put(context, remote, []Block{block(source[:n], at[0]), block(source[n:2*n], at[1])}, nil, false)
		await(t, req, err)
		req, err = b.Flush(context, 0)
		await(t, req, err)
		for i, at := range at {
			if !bytes.Equal(there[at:at+n], source[i*n:(i+1)*n]) {
				t.Fatalf("%d bytes at %d have not come after the flush", n, at)
			}
		}
		req, err = b.Get(context, remote, []Block{block(back[:n], at[0]), block(back[n:2*n], at[1])})
		await(t, req, err)
		if !bytes.Equal(back[:2*n], source[:2*n]) {
			t.Fatalf("%d bytes have not come back", n)
		}
	}
	_, own := share(t, a, a, memory(t, size))
	req, err := a.Put(0, own, []Block{block(source, 0)}, nil, false)
	await(t, req, err)
	req, err = a.Get(0, own, []Block{block(back, 0)})
	await(t, req, err)
	if !bytes.Equal(back, source) {
		t.Error("bytes of a member to itself have not come back")
	}
}

// TestSignals sends blocks with signals: who sees the value sees all bytes of all blocks. A signal
// that is ordered comes after all earlier puts.
func TestSignals(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, func(o *Options) { o.Contexts = 2 })
	introduce(t, a, b)
	const size = 1 << 20
	there, source, words := memory(t, size), memory(t, size), memory(t, 4096)
	_, remote := share(t, a, b, there)
	_, signals := share(t, a, b, words)
	for round := 1; round <= 60; round++ {
		n, context := []int{100, 5000, 200000}[round%3], round/12%2
		pattern(source, round)
		blocks := []Block{block(source[:n], 0), block(source[n:2*n], 400000)}
		s := &Signal{Region: signals, Offset: 64, Op: Set, Value: uint64(round)}
		var req *Request
		var err error
		switch round % 4 {
		case 0: // the signal alone, behind the puts
			req, err = b.Put(context, remote, blocks, nil, false)
			await(t, req, err)
			req, err = b.Notify(context, s, true)
		default:
			req, err = b.Put(context, remote, blocks, s, false)
		}
		until(t, "a signal", func() bool { return word(words, 64) == uint64(round) })
		if !bytes.Equal(there[:n], source[:n]) || !bytes.Equal(there[400000:400000+n], source[n:2*n]) {
			t.Fatalf("round %d: the signal has come before its bytes", round)
		}
		await(t, req, err)
	}
	for range 100 {
		req, err := b.Notify(0, &Signal{Region: signals, Offset: 8, Op: Add, Value: 3}, false)
		await(t, req, err)
	}
	until(t, "a sum of signals", func() bool { return word(words, 8) == 300 })
}

// TestComeAndGo has a member serve while others come, work and leave, two at a time, over all
// numbers of a small mesh.
func TestComeAndGo(t *testing.T) {
	const most, size = 9, 64 << 10
	server := open(t, 0, most, nil)
	pages := memory(t, size)
	region, err := server.Register(unsafe.Pointer(&pages[0]), size)
	if err != nil {
		t.Fatal(err)
	}
	next := atomic.Int32{}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for {
				number := int(next.Add(1))
				if number >= most {
					return
				}
				client := open(t, number, most, nil)
				client.introduced(t, server)
				source, back := memory(t, 4096), memory(t, 4096)
				remote := take(t, client, region)
				for round := range 200 {
					pattern(source, number+round)
					req, err := client.Put(0, remote, []Block{block(source, 4096*number)}, nil, false)
					await(t, req, err)
					req, err = client.Flush(0, 0)
					await(t, req, err)
					req, err = client.Get(0, remote, []Block{block(back, 4096*number)})
					if await(t, req, err); !bytes.Equal(back, source) {
						t.Errorf("member %d, round %d: the page has other bytes", number, round)
						return
					}
				}
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				until(t, "the news that a member has left", func() bool { return server.Status(number) != nil })
				wants(t, server.Status(number), shmerr.ErrPeerLost, fmt.Sprintf("member %d has left the mesh", number))
			}
		})
	}
	all.Wait()
}

// introduced adds two members to each other.
func (m *Mesh) introduced(t testing.TB, other *Mesh) { introduce(t, m, other) }

// TestLateAdd has a member work with one that adds it only later: it waits, and nothing is lost.
func TestLateAdd(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, nil)
	there := memory(t, 4096)
	region, err := a.Register(unsafe.Pointer(&there[0]), 4096)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Add(a.Address()); err != nil {
		t.Fatal(err)
	}
	_, req, err := b.Import(region.Describe())
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(700 * time.Millisecond) // more than the tries of a connection in a job take
	if ended, err := req.Test(); ended {
		t.Fatalf("the import has ended before the other member knows this one: %v", err)
	}
	if _, err := a.Add(b.Address()); err != nil {
		t.Fatal(err)
	}
	await(t, req)
}

// TestCloseRegion closes a region while another member reads and writes it. Afterwards nothing
// touches the memory, which the test unmaps, and operations on it end with an error that names it.
func TestCloseRegion(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, nil)
	introduce(t, a, b)
	source := memory(t, 1<<18)
	_, lasting := share(t, a, b, memory(t, 4096))
	for round := range 20 {
		there, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			t.Fatal(err)
		}
		region, remote := share(t, a, b, there)
		began, ended := make(chan struct{}), make(chan error)
		go func() {
			for i := 0; ; i++ {
				n := []int{64, 4000, 1 << 18}[i%3]
				var req *Request
				var err error
				if i%4 == 3 {
					req, err = b.Get(0, remote, []Block{block(source[:n], 0)})
				} else {
					req, err = b.Put(0, remote, []Block{block(source[:n], i%7*8)}, nil, false)
				}
				if err == nil && i%2 == 0 {
					err = req.Wait(patience)
				}
				if i == round {
					close(began)
				}
				if err != nil {
					ended <- err
					return
				}
			}
		}()
		<-began
		req, err := region.Close()
		await(t, req, err)
		if err := unix.Munmap(there); err != nil {
			t.Fatal(err)
		}
		wants(t, <-ended, ErrClosed, "member 0 has closed region")
		_, _, err = b.Import(region.Describe())
		if err == nil {
			_, again, _ := b.Import(region.Describe())
			err = again.Wait(patience)
		}
		wants(t, err, ErrClosed, "member 0 has closed region")
	}
	req, err := b.Put(0, lasting, []Block{block(source[:4096], 0)}, nil, false)
	await(t, req, err)
	req, err = b.Flush(0, 0)
	await(t, req, err)
}

// TestSilentMember has one that does not answer any more: requests on it end with an error after
// the timeout, and the others go on.
func TestSilentMember(t *testing.T) {
	short := func(o *Options) { o.Timeout = 500 * time.Millisecond }
	a, b, c := open(t, 0, 3, short), open(t, 1, 3, short), open(t, 2, 3, short)
	introduce(t, a, b, c)
	_, toB := share(t, b, a, memory(t, 1<<20))
	_, toC := share(t, c, a, memory(t, 1<<20))
	own, _ := share(t, a, b, memory(t, 4096))
	source := memory(t, 1<<20)
	b.e.WithLock(func() { // nobody polls for b any more
		req, err := a.Flush(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		closing, err := own.Close() // b has imported it
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			other, err := a.Put(0, toC, []Block{block(source, 0)}, nil, false)
			await(t, other, err)
			other, err = a.Flush(0, 2)
			await(t, other, err)
		}
		wants(t, req.Wait(patience), shmerr.ErrPeerLost, "member 1 has not answered for 500ms")
		await(t, closing)
		_, err = a.Put(0, toB, []Block{block(source, 0)}, nil, false)
		wants(t, err, shmerr.ErrPeerLost, "member 1 has not answered for 500ms")
		wants(t, a.Status(1), shmerr.ErrPeerLost, "member 1 has not answered for 500ms")
		other, err := a.Flush(0, 2)
		await(t, other, err)
	})
	// The one that was given up learns so.
	until(t, "the loss at the other end", func() bool {
		_, _ = b.Flush(0, 0)
		return b.Status(0) != nil
	})
}

// TestRemove removes a member that writes: it can neither write nor read afterwards.
func TestRemove(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, nil)
	introduce(t, a, b)
	there := memory(t, 1<<20)
	_, remote := share(t, a, b, there)
	source := memory(t, 1<<20)
	began, ended := make(chan struct{}), make(chan error)
	go func() {
		for i := 0; ; i++ {
			req, err := b.Put(0, remote, []Block{block(source, 0)}, nil, false)
			if err == nil {
				err = req.Wait(patience)
			}
			if i == 3 {
				close(began)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	<-began
	if err := a.Remove(1); err != nil {
		t.Fatal(err)
	}
	wants(t, a.Status(1), shmerr.ErrPeerLost, "member 1 was removed here")
	wants(t, <-ended, shmerr.ErrPeerLost, "member 0 ")
	_, err := a.Add(b.Address())
	wants(t, err, shmerr.ErrPeerLost, "member 1 was removed here")
}
