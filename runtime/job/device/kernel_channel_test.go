package device

import (
	"sync/atomic"
	"testing"
	"time"

	"libshmem/queue"
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
	if st := p.Quiet(&ticket); st != call.Pending {
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
