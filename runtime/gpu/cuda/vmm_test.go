package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/runtime/shmerr"
)

const chunk = 2 << 20

// useChunks maps memory at two addresses, one of them as another process would,
// and gives everything back.
func useChunks(v *Device) (err error) {
	keep := func(e error) { err = errors.Join(err, e) }
	if n, e := v.Granularity(); e != nil || n != chunk {
		return errors.Join(e, fmt.Errorf("the granularity is %d", n))
	}
	at, e := v.Reserve(2*chunk, 4*chunk)
	if e != nil {
		return e
	}
	defer func() { keep(v.Unreserve(at, 2*chunk)) }()
	c, e := v.CreateChunk(chunk)
	if e != nil {
		return e
	}
	defer func() { keep(v.ReleaseChunk(c)) }()
	fd, e := v.ShareChunk(c)
	if e != nil {
		return e
	}
	defer func() { keep(unix.Close(fd)) }()
	other, e := v.ImportChunk(fd)
	if e != nil {
		return e
	}
	defer func() { keep(v.ReleaseChunk(other)) }()
	if e := v.MapChunk(at, chunk, c); e != nil {
		return e
	}
	defer func() { keep(v.UnmapChunk(at, chunk)) }()
	if e := v.MapChunk(at+chunk, chunk, other); e != nil {
		return e
	}
	defer func() { keep(v.UnmapChunk(at+chunk, chunk)) }()
	word := make([]byte, 4)
	keep(v.Fill(at, 7, 1))
	keep(v.CopyOut(word, at+chunk))
	if err == nil && (word[0] != 7 || at%(4*chunk) != 0) {
		keep(fmt.Errorf("read %v through the second address of %#x", word, uint64(at)))
	}
	p, e := v.Pointer(at + 8)
	if keep(e); e == nil && (p.Place != gpu.OnDevice || p.Base != at || p.Size != chunk || p.Host != 0) {
		keep(fmt.Errorf("the driver says %+v", p))
	}
	for i, want := range []gpu.Chunk{c, other, 0} {
		a := at + gpu.Address(i)*chunk
		name, ok, e := v.ChunkAt(a)
		if keep(e); name != want || ok != (want != 0) {
			keep(fmt.Errorf("%d is at %#x, want %d", name, uint64(a), want))
		}
		if ok {
			l, e := v.Lendable(name)
			if keep(errors.Join(e, v.ReleaseChunk(name))); l != (gpu.Lendable{Shared: true}) {
				keep(fmt.Errorf("the driver says %+v", l))
			}
		}
	}
	keep(v.SyncMemops(at + 8))
	if buf, e := v.ExportDMABuf(at, chunk); e == nil {
		keep(unix.Close(buf))
	} else {
		keep(e)
	}
	if _, total, e := v.FreeMemory(); e != nil || total != v.Facts().Memory {
		keep(errors.Join(e, fmt.Errorf("the memory has %d bytes", total)))
	}
	return err
}

func TestChunksRefuse(t *testing.T) {
	dir := cudatest.Build(t)
	for settings, want := range map[string]string{
		"memory=4096":    "allocate 2097152 bytes on GPU 0 Fake G100: cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY, out of memory (free memory, or allocate less)",
		"addresses=4096": "reserve 4194304 bytes of addresses on GPU 0 Fake G100: cuMemAddressReserve: CUDA_ERROR_OUT_OF_MEMORY",
		"import=801":     "take another process's memory on GPU 0 Fake G100: cuMemImportFromShareableHandle: error 801",
		"foreign=217":    "cuMemSetAccess: error 217",
		"sync_mapped=0":  "make copies synchronous for memory of GPU 0 Fake G100: cuPointerSetAttribute: error 1",
	} {
		log := cudatest.Set(t, settings)
		v := mustDevice(t, dir)
		if err := useChunks(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v\nwant %s", settings, err, want)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		log.Check()
	}
	cudatest.Set(t, "")
	v := mustDevice(t, dir)
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := v.ImportChunk(int(null.Fd())); err == nil || !strings.Contains(err.Error(), "cuMemImportFromShareableHandle") {
		t.Errorf("a descriptor that is no memory: error %v", err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

// TestShared: CUDA's IPC works for other processes, and for whole allocations.
func TestShared(t *testing.T) {
	dir := cudatest.Build(t)
	log := cudatest.Set(t, "")
	v := mustDevice(t, dir)
	a, err := v.Alloc(chunk)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := v.ChunkAt(a); ok || err != nil {
		t.Errorf("memory of cuMemAlloc has a name: %v, %v", ok, err)
	}
	if err := v.SyncMemops(a + 8); err != nil {
		t.Error(err)
	}
	s, err := v.Share(a)
	if err != nil || s == (gpu.Shared{}) {
		t.Errorf("shared as %x, error %v", s, err)
	}
	if _, err := v.Share(a + 8); err == nil || !strings.Contains(err.Error(), "cuIpcGetMemHandle") {
		t.Errorf("an address within: error %v", err)
	}
	if _, err := v.OpenShared(s); err == nil || !strings.Contains(err.Error(), "cuIpcOpenMemHandle_v2: CUDA_ERROR_INVALID_CONTEXT") {
		t.Errorf("in the process that shares it: error %v", err)
	}
	if err := v.CloseShared(a); err == nil || !strings.Contains(err.Error(), "cuIpcCloseMemHandle") {
		t.Errorf("what was not opened: error %v", err)
	}
	if err := errors.Join(v.Free(a), v.Close()); err != nil {
		t.Error(err)
	}
	log.CheckProcess()
}

func TestReaches(t *testing.T) {
	dir := cudatest.Build(t)
	gpuNumber := func(n int) string { return fmt.Sprintf("GPU-fa000000-0000-0000-0000-%012x", n) }
	for _, tt := range []struct {
		settings   string
		peer       int
		yes, known bool
	}{
		{"devices=2", 0, true, true},
		{"devices=2", 1, true, true},
		{"devices=2 peers=0", 0, true, true},
		{"devices=2 peers=0", 1, false, true},
		{"devices=2", 5, false, false},
		{"first=5", 5, true, true},
	} {
		log := cudatest.Set(t, tt.settings)
		v := mustDevice(t, dir)
		yes, known, err := v.Reaches(gpuNumber(tt.peer))
		if yes != tt.yes || known != tt.known || err != nil {
			t.Errorf("%s, peer %d: %v, known %v, error %v", tt.settings, tt.peer, yes, known, err)
		}
		calls := len(log.Calls())
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		if tt.peer == 1 {
			for at := calls - 2; at <= calls; at++ {
				log := cudatest.Set(t, fmt.Sprintf("%s fail_at=%d", tt.settings, at))
				v := mustDevice(t, dir)
				if _, _, err := v.Reaches(gpuNumber(1)); !errors.Is(err, shmerr.ErrSystem) || !strings.Contains(err.Error(), "ask for peers of GPU 0") {
					t.Errorf("call %d fails: error %v", at, err)
				}
				if err := v.Close(); err != nil {
					t.Error(err)
				}
				log.Check()
			}
		}
	}
}

// TestPointer: each kind of memory is recognised.
func TestPointer(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	host, hostAt, err := v.HostAlloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	_, managed, err := v.ManagedAlloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	device, err := v.Alloc(chunk)
	if err != nil {
		t.Fatal(err)
	}
	at := gpu.Address(uintptr(host))
	for _, tt := range []struct {
		a    gpu.Address
		want gpu.Pointer
	}{
		{at + 100, gpu.Pointer{Place: gpu.PinnedHost, Host: at + 100, Base: at, Size: 4096}},
		{hostAt + 100, gpu.Pointer{Place: gpu.PinnedHost, Host: at + 100, Base: hostAt, Size: 4096}},
		{managed, gpu.Pointer{Place: gpu.ManagedMemory, Host: managed, Base: managed, Size: 4096, OwnedByContext: true}},
		{device + chunk - 1, gpu.Pointer{Place: gpu.OnDevice, Base: device, Size: chunk, OwnedByContext: true}},
		{device + chunk, gpu.Pointer{}},
		{1 << 20, gpu.Pointer{}},
	} {
		got, err := v.Pointer(tt.a)
		id := got.Buffer
		if got.Buffer = 0; err != nil || got != tt.want || (id == 0) != (tt.want == gpu.Pointer{}) {
			t.Errorf("%s: %+v, buffer %d, error %v; want %+v", tt.want.Place, got, id, err, tt.want)
		}
	}
	before, err := v.Pointer(device)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Free(device); err != nil {
		t.Fatal(err)
	}
	// The same address may come again; it is other memory.
	if device, err = v.Alloc(chunk); err != nil {
		t.Fatal(err)
	}
	if after, err := v.Pointer(device); err != nil || after.Buffer == before.Buffer {
		t.Errorf("before %+v, after %+v, error %v", before, after, err)
	}
	if err := errors.Join(v.Free(device), v.Free(managed), v.HostFree(host), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
}

// TestDMABufOfAChunk: the exported file is the memory behind the address.
func TestDMABufOfAChunk(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	at, err := v.Reserve(chunk, 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := v.CreateChunk(chunk)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(v.MapChunk(at, chunk, c), v.Fill(at, 0x01010101, 1024)); err != nil {
		t.Fatal(err)
	}
	fd, err := v.ExportDMABuf(at, 4096)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4096)
	if n, err := unix.Pread(fd, got, 0); n != len(got) || err != nil || !bytes.Equal(got, bytes.Repeat([]byte{1}, 4096)) {
		t.Errorf("read %d bytes, %x, error %v", n, got[:4], err)
	}
	if err := errors.Join(unix.Close(fd), v.UnmapChunk(at, chunk), v.ReleaseChunk(c), v.Unreserve(at, chunk), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
}
