package device

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"libshmem/queue"
	"libshmem/queue/channel"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/gputest"
	"libshmem/runtime/proxy/call"
)

// newTestChannel makes a channel on a fake GPU, and returns its first requests, too.
func newTestChannel(t *testing.T) (*kernelChannel, *[6]uint64) {
	t.Helper()
	k, err := newKernelChannel(gputest.New(t, "GPU 0", gpu.Facts{MapHost: true}), queue.MinSlots, 4096)
	if err != nil {
		t.Fatal(err)
	}
	return k, (*[6]uint64)(k.memory[0].Host)
}

// TestQuietOfChannel: a quiet of the host begins when the requests that kernels have stored are in a
// ring, and the end of the rings waits for them, too.
func TestQuietOfChannel(t *testing.T) {
	k, requests := newTestChannel(t)
	p := &Producers{kernels: &Kernels{channel: k}}
	for i, e := range []uint64{1 | 2<<16, 1 | 5<<32 | 1<<16, 1 | 4<<16} { // a p
		atomic.StoreUint64(&requests[i], e)
	}
	var ticket uint64
	if st := p.Quiet(&ticket); st != call.Pending || ticket == 0 {
		t.Errorf("a quiet began before the request was in the ring: %v", st)
	}
	k.begin(func(err error) { t.Error(err) })
	for begun := time.Now(); p.Quiet(&ticket) == call.Pending; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("the quiet never begins")
		}
	}
	for i, e := range []uint64{1 | 2<<16, 1 | 5<<32 | 1<<16, 1 | 4<<16} {
		atomic.StoreUint64(&requests[3+i], e)
	}
	k.finish()
	var op [4]queue.Op
	if n := k.ring.Read(op[:]); n != 2 || op[1].Code != queue.CodeP {
		t.Errorf("%d operations in the ring: %+v", n, op[:n])
	}
	if err := k.close(); err != nil {
		t.Error(err)
	}
}

// TestQuietBesideKernels: a quiet of the host ends while other kernels go on storing requests.
func TestQuietBesideKernels(t *testing.T) {
	k, requests := newTestChannel(t)
	all := unsafe.Slice(&requests[0], channel.Room/8)
	ticket, i, end := uint64(0), 0, time.Now().Add(10*time.Second)
	for more := true; more; {
		if time.Now().After(end) {
			t.Fatal("the quiet never begins")
		}
		for range 3 { // never empty: a request more than Poll takes at a time
			for range 64 {
				at := i * 24
				for j, e := range []uint64{2 << 16, 5<<32 | 1<<16, 4 << 16} {
					p := at + 8*j
					atomic.StoreUint64(&all[p/8%len(all)], e|^uint64(p)>>22&1)
				}
				i++
			}
		}
		if _, err := k.channel.Poll(); err != nil {
			t.Fatal(err)
		}
		var ops [256]queue.Op
		k.ring.Read(ops[:])
		k.ring.Publish()
		more = !k.drained(&ticket)
		if more && ticket == 0 {
			t.Fatal("the quiet has forgotten where it began")
		}
		for k.channel.Position() < uint64(i-64)*24 { // so that nothing is overwritten
			if _, err := k.channel.Poll(); err != nil {
				t.Fatal(err)
			}
			k.ring.Read(ops[:])
			k.ring.Publish()
		}
	}
	if taken := k.channel.Position(); taken < channel.Room || ticket != 0 {
		t.Errorf("the quiet began after %d bytes of requests, ticket %#x", taken, ticket)
	}
	if err := k.close(); err != nil {
		t.Error(err)
	}
}

// TestUnservedRequest: a request that is not served ends the job, and the goroutine.
func TestUnservedRequest(t *testing.T) {
	k, requests := newTestChannel(t)
	atomic.StoreUint64(&requests[0], 1|99<<16)
	failed := make(chan error, 1)
	k.begin(func(err error) { failed <- err })
	select {
	case err := <-failed:
		if want := "kernel with device code of NVIDIA's archive: operation 99 at position 0 of the proxy channel is not served"; len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("the job ends with %q", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the job goes on")
	}
	k.finish()
	if err := k.close(); err != nil {
		t.Error(err)
	}
}
