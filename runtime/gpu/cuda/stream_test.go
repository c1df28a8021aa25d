package cuda

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/runtime/shmerr"
)

// drain waits for a stream, and again where that fails: the stream's work uses memory that is freed
// next.
func drain(v *Device, s gpu.Stream) error {
	err := v.SyncStream(s)
	if err != nil {
		_ = v.SyncStream(s)
	}
	return err
}

// useStreams has two streams do work, one after the other by an event.
func useStreams(v *Device) (err error) {
	keep := func(e error) { err = errors.Join(err, e) }
	host, at, e := v.HostAlloc(4096)
	if e != nil {
		return e
	}
	defer func() { keep(v.HostFree(host)) }()
	first, e := v.NewStream()
	if e != nil {
		return e
	}
	defer func() { keep(v.CloseStream(first)) }()
	second, e := v.NewStream()
	if e != nil {
		return e
	}
	defer func() { keep(v.CloseStream(second)) }()
	event, e := v.NewEvent()
	if e != nil {
		return e
	}
	defer func() { keep(v.CloseEvent(event)) }()

	words := unsafe.Slice((*uint64)(host), 3)
	clear(words)
	for _, e := range []error{
		v.Wait64(first, at+8, 5, gpu.Equal), // at once: it is stored below
		v.FillAsync(first, at, 2, 8),
		v.Record(event, first),
		v.After(second, event),
		v.CopyAsync(second, at+16, at, 8),
		v.FlushWrites(true),
	} {
		if e != nil {
			words[1] = 5 // or the first operation would wait for ever
			keep(e)
		}
	}
	if captured, e := v.Capturing(first); e != nil || captured {
		keep(errors.Join(e, fmt.Errorf("capturing %v", captured)))
	}
	if err == nil {
		if done, e := v.StreamDone(first); e != nil || done {
			keep(errors.Join(e, fmt.Errorf("before the word is there, the stream is done: %v", done)))
		}
	}
	keep(v.Write64(0, at+8, 5))
	keep(v.Write32(0, at+12, 0))
	keep(v.Stores(0, []gpu.Store{{At: at + 8, Value: 5, Width: 8}, {At: at + 12, Value: 0, Width: 4}}))
	keep(drain(v, 0))
	words[1] = 5 // where one of the two failed
	for range 20 {
		done, e := v.EventDone(event)
		if keep(e); done || e != nil {
			break
		}
	}
	keep(v.SyncEvent(event))
	keep(drain(v, second))
	if err == nil && words[2] != 0x0202020202020202 {
		keep(fmt.Errorf("the second stream copied %#x", words[2]))
	}
	return err
}

// useModule loads code, finds its parts, and has it run.
func useModule(v *Device) (err error) {
	keep := func(e error) { err = errors.Join(err, e) }
	m, e := v.LoadModule([]byte("kernel store64\nglobal state\n"))
	if e != nil {
		return e
	}
	defer func() { keep(m.Close()) }()
	a, n, e := m.Global("state")
	if keep(e); e == nil && (a == 0 || n != 64) {
		keep(fmt.Errorf("the variable is at %#x and has %d bytes", uint64(a), n))
	}
	if b, _, e := v.LibraryGlobal(m.handle, "state"); e != nil || b != a {
		keep(errors.Join(e, errors.New("a library has another variable")))
	}
	f, e := m.Function("store64")
	if e != nil || a == 0 {
		keep(e)
		return err
	}
	word := binary.LittleEndian.AppendUint64(nil, 42)
	grid := Grid{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{32, 1, 1}, Shared: 16}
	if e := v.Launch(f, grid, 0, binary.LittleEndian.AppendUint64(nil, uint64(a)), word); e != nil {
		keep(e)
		return err
	}
	keep(drain(v, 0))
	got := make([]byte, 8)
	keep(v.CopyOut(got, a))
	if err == nil && !bytes.Equal(got, word) {
		keep(fmt.Errorf("the kernel stored %v", got))
	}
	return err
}

// TestContextsWaitForNobody: calls return before the stream does their work.
func TestContextsWaitForNobody(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	s, err := v.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if done, err := v.StreamDone(s); !done || err != nil {
		t.Errorf("a new stream: done %v, error %v", done, err)
	}
	host, at, err := v.HostAlloc(64)
	if err != nil {
		t.Fatal(err)
	}
	words := unsafe.Slice((*uint64)(host), 8)
	clear(words)
	for _, tt := range []struct {
		until      gpu.Condition
		value      uint64
		unmet, met uint64
	}{
		{gpu.AtLeast, 10, 9, 11}, {gpu.AtLeast, 1, ^uint64(0), 1}, {gpu.Equal, 10, 11, 10}, {gpu.And, 6, 9, 4},
	} {
		words[0], words[1] = tt.unmet, 0
		if err := errors.Join(v.Wait64(s, at, tt.value, tt.until), v.Write64(s, at+8, 1)); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if done, err := v.StreamDone(s); done || err != nil {
				t.Fatalf("%d of %d: done %v, error %v", tt.unmet, tt.value, done, err)
			}
		}
		if words[1] != 0 {
			t.Errorf("%d met a wait for %d, condition %d", tt.unmet, tt.value, tt.until)
		}
		words[0] = tt.met
		if err := v.SyncStream(s); err != nil || words[1] != 1 {
			t.Errorf("%d for %d, condition %d: stored %d, error %v", tt.met, tt.value, tt.until, words[1], err)
		}
	}
	if err := errors.Join(v.CloseStream(s), v.HostFree(host), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
}

// TestLaterFunctions: a function that a driver of CUDA 11.0 lacks is refused by name.
func TestLaterFunctions(t *testing.T) {
	log := cudatest.Set(t, "version=11000 capturing=1")
	v := mustDevice(t, cudatest.Build(t, "NO_LATE", "NO_EXPORT"))
	if f := v.Facts(); f.StreamOps || f.DMABuf {
		t.Errorf("facts %+v", f)
	}
	_, _, library := v.LibraryGlobal(nil, "state")
	_, export := v.ExportDMABuf(0, gpu.Page)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{v.Write64(0, 0, 0), "store a word by a stream of GPU 0 Fake G100: the driver, of CUDA 11.0, has no stream operations on 64 bits for it (install a driver of CUDA 11.7 or later)"},
		{v.Stores(0, make([]gpu.Store, 1)), "store words by a stream of GPU 0 Fake G100: the driver, of CUDA 11.0, has no stream operations on 64 bits"},
		{v.Wait64(0, 0, 0, gpu.Equal), "wait for a word by a stream of GPU 0 Fake G100: the driver"},
		{v.FlushWrites(false), "flush a NIC's writes to GPU 0 Fake G100: the driver, of CUDA 11.0, has no call for it"},
		{library, "find variable state on GPU 0 Fake G100: the driver, of CUDA 11.0, has no function cuLibraryGetGlobal (install a driver of CUDA 12.0 or later)"},
		{export, "export memory of GPU 0 Fake G100: the driver, of CUDA 11.0, has no function cuMemGetHandleForAddressRange"},
	} {
		if !errors.Is(tt.err, shmerr.ErrUnsupported) || !strings.HasPrefix(tt.err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", tt.err, tt.want)
		}
	}
	if captured, err := v.Capturing(0); !captured || err != nil {
		t.Errorf("captured %v, error %v", captured, err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	log.Check()
}

func TestModuleRefuses(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	_, none := v.LoadModule(nil)
	_, text := v.LoadModule([]byte("text"))
	m, err := v.LoadModule([]byte("kernel a\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, function := m.Function("b")
	_, _, global := m.Global("c")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{none, "load device code on GPU 0 Fake G100: the image is empty"},
		{text, "cuModuleLoadData: error 200"},
		{function, "find kernel b on GPU 0 Fake G100: cuModuleGetFunction: error 500"},
		{global, "find variable c on GPU 0 Fake G100: cuModuleGetGlobal_v2: error 500"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", tt.err, tt.want)
		}
	}
	if err := errors.Join(m.Close(), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
}

// TestCurrent: the GPU of the program's thread is taken, and left as it is.
func TestCurrent(t *testing.T) {
	dir := cudatest.Build(t)
	log := cudatest.Set(t, "devices=3")
	d, err := openFake(dir)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if n, ok, err := d.Current(); n != 0 || ok || err != nil {
		t.Errorf("a thread without a context: GPU %d, %v, error %v", n, ok, err)
	}
	for rank, want := range []int{0, 1, 2, 0, 1} {
		if n, current, err := d.Choose(rank); n != want || current || err != nil {
			t.Errorf("rank %d: GPU %d, error %v", rank, n, err)
		}
	}
	if _, _, err := d.Choose(-1); !errors.Is(err, shmerr.ErrArgument) {
		t.Errorf("rank -1: error %v", err)
	}
	v, err := d.Device(2)
	if err != nil {
		t.Fatal(err)
	}
	if v.Number() != 2 || v.Context() == nil {
		t.Errorf("GPU %d, context %p", v.Number(), v.Context())
	}
	if err := v.withLocked("test", func() error {
		before := len(log.Calls())
		if n, current, err := d.Choose(0); n != 2 || !current || err != nil {
			t.Errorf("in a thread of GPU 2: GPU %d, error %v", n, err)
		}
		for at := before + 1; at <= before+5; at++ {
			log = cudatest.Set(t, fmt.Sprintf("devices=3 fail_at=%d", at-before))
			if _, _, err := d.Choose(0); !errors.Is(err, shmerr.ErrSystem) || !strings.HasPrefix(err.Error(), "choose a GPU: ask for the GPU of this thread: cu") {
				t.Errorf("call %d fails: error %v", at-before, err)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

// TestWorkAllocatesNothing: operations for each message leave no garbage.
func TestWorkAllocatesNothing(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	host, at, err := v.HostAlloc(64)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	event, err := v.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	stores := slices.Repeat([]gpu.Store{{At: at, Value: 1, Width: 8}}, gpu.MaxStores+1)
	work := func() {
		err := errors.Join(v.CopyAsync(s, at, at+8, 8), v.FillAsync(s, at, 0, 8), v.Stores(s, stores), v.Write64(s, at, 1), v.Write32(s, at, 1), v.Wait64(s, at, 1, gpu.Equal),
			v.Record(event, s), v.After(s, event))
		for done := false; err == nil && !done; {
			if _, err = v.EventDone(event); err == nil {
				done, err = v.StreamDone(s)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	if n := testing.AllocsPerRun(20, work); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if err := errors.Join(v.CloseEvent(event), v.CloseStream(s), v.HostFree(host), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
	for _, err := range []error{v.CopyAsync(s, at, at, 8), v.Record(event, s)} {
		if !errors.Is(err, errClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	if done, err := v.StreamDone(s); done || !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v, %v", done, err)
	}
}

// TestCopiesOverJoints: copies and fills that reach over the end of one
// registration into the next are cut, which the driver wants.
func TestCopiesOverJoints(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	const part, n = gpu.Page, 3 * gpu.Page
	m, err := gpu.Host(n)
	if err != nil {
		t.Fatal(err)
	}
	host := unsafe.Slice((*byte)(m.Host), n)
	at := gpu.Address(uintptr(m.Host))
	for i := range uintptr(3) {
		if _, err := v.HostRegister(unsafe.Add(m.Host, i*part), part); err != nil {
			t.Fatal(err)
		}
	}
	block, err := v.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, n)
	for i := range want {
		want[i] = byte(i*7 + i>>8)
	}
	got := make([]byte, n)
	for name, f := range map[string]func() error{
		"CopyIn and CopyOut": func() error { return errors.Join(v.CopyIn(at, want), v.CopyOut(got, at)) },
		"Copy": func() error {
			return errors.Join(v.CopyIn(block, want), v.Copy(at+1, block+1, n-1), v.CopyIn(at, want[:1]), v.Copy(block, at, n), v.CopyOut(got, block))
		},
		"CopyAsync": func() error {
			return errors.Join(v.CopyIn(block, want), v.CopyAsync(s, at, block, n), v.CopyAsync(s, block, at, n), v.SyncStream(s), v.CopyOut(got, block))
		},
		"Copies": func() error {
			in, out := []gpu.Copy{{To: block, From: at, N: n, Rows: 1}}, []gpu.Copy{{To: at, From: block, N: n / 2, Rows: 1}, {To: at + n/2, From: block + n/2, N: n / 2, Rows: 1}}
			return errors.Join(v.CopyIn(block, want), v.Copies(s, out, gpu.CopyOut), v.Copies(s, in, gpu.CopyIn), v.SyncStream(s), v.CopyOut(got, block))
		},
	} {
		clear(got)
		clear(host)
		if err := f(); err != nil || !bytes.Equal(got, want) || !bytes.Equal(host, want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, f := range map[string]func() error{
		"Zero":      func() error { return v.Zero(at, n) },
		"Fill":      func() error { return v.Fill(at, 0, n/4) },
		"FillAsync": func() error { return errors.Join(v.FillAsync(s, at, 0, n), v.SyncStream(s)) },
	} {
		copy(host, want)
		if err := f(); err != nil || !bytes.Equal(host, make([]byte, n)) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for i := range uintptr(3) {
		if err := v.HostUnregister(unsafe.Add(m.Host, i*part)); err != nil {
			t.Error(err)
		}
	}
	if v.joints.at.Load() != nil {
		t.Error("joints are left")
	}
	if err := errors.Join(v.Free(block), v.CloseStream(s), m.Close(), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
}

// TestStores: words of both widths are stored in their order, also where there are
// more than the driver is given at once.
func TestStores(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	host, at, err := v.HostAlloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	words := unsafe.Slice((*uint64)(host), 512)
	clear(words)
	s, err := v.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	var stores []gpu.Store
	for i := range uint64(gpu.MaxStores + 10) {
		stores = append(stores, gpu.Store{At: at + gpu.Address(8*i), Value: ^i, Width: 8})
	}
	stores = append(stores, gpu.Store{At: at + 4, Value: 7, Width: 4}, gpu.Store{At: at + 8, Value: 9, Width: 8})
	if err := errors.Join(v.Stores(s, nil), v.Stores(s, stores), v.SyncStream(s)); err != nil {
		t.Fatal(err)
	}
	if words[0] != 7<<32|0xffffffff || words[1] != 9 {
		t.Errorf("the last stores left %#x", words[:2])
	}
	for i := uint64(2); i < gpu.MaxStores+10; i++ {
		if words[i] != ^i {
			t.Errorf("word %d is %#x", i, words[i])
		}
	}
	for _, bad := range []gpu.Store{{At: at + 4, Width: 8}, {At: at + 2, Width: 4}} {
		if err := v.Stores(s, []gpu.Store{bad}); err == nil || !strings.Contains(err.Error(), "cuStreamBatchMemOp_v2") {
			t.Errorf("store of %d bytes at %#x: %v", bad.Width, uint64(bad.At), err)
		}
	}
	if err := errors.Join(v.CloseStream(s), v.HostFree(host), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
}

// TestWhileOthersCapture: a graph that another thread captures disturbs no operation.
func TestWhileOthersCapture(t *testing.T) {
	log := cudatest.Set(t, "others_capture=1")
	v := mustDevice(t, cudatest.Build(t))
	if err := errors.Join(use(v), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
}
