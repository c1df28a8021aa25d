package cuda

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda/cudatest"
)

// piecesOf returns 64 copies of n bytes from packed memory to places at a distance.
func piecesOf(to, from gpu.Address, n, distance uint64, order []int) (copies []gpu.Copy) {
	for _, i := range order {
		copies = append(copies, gpu.Copy{To: to + gpu.Address(uint64(i)*distance), From: from + gpu.Address(uint64(i)*n), N: n, Rows: 1})
	}
	return copies
}

// count returns how often a function of the driver was called.
func count(log *cudatest.Log, name string) (n int) {
	for _, line := range log.Calls() {
		if called, _, _ := strings.Cut(line, " "); called == name {
			n++
		}
	}
	return n
}

// TestCopies: copies of any order, size and number arrive, in as few calls as they can be made, and
// in a context of the library's own none of fewer bytes than a copy engine makes is a plain copy.
func TestCopies(t *testing.T) {
	const pieces = 64
	inOrder := make([]int, pieces)
	for i := range inOrder {
		inOrder[i] = i
	}
	mixed := slices.Clone(inOrder)
	rand.New(rand.NewPCG(1, 2)).Shuffle(pieces, func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	for _, tt := range []struct {
		name        string
		settings    string
		n           uint64
		order       []int
		own         bool
		packed      bool
		plain, rows int // calls; -1: any number of them
	}{
		{"in order", "", 7168, inOrder, false, false, 0, 1},
		{"in order, own context", "", 7168, inOrder, true, false, 0, 1},
		{"in another order", "", 7168, mixed, true, false, 0, -1},
		{"odd", "", 7, mixed, true, false, 0, -1},
		{"one byte", "", 1, inOrder, true, false, 0, 1},
		{"rows are refused", "parts=1", 7168, inOrder, false, false, pieces, 1},
		{"rows are refused, own context", "parts=1", 7168, inOrder, true, false, 0, pieces + 1},
		{"packed", "", 7168, inOrder, true, true, 1, 0},
		{"packed and small", "", 99, inOrder, true, true, 0, 1},
		{"large", "", 32 << 10, mixed, true, false, -1, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := cudatest.Set(t, tt.settings)
			v := mustDevice(t, cudatest.Build(t))
			dev := v
			if tt.own {
				own, err := v.OwnContext("test")
				if err != nil {
					t.Fatal(err)
				}
				dev = own
			}
			size, distance := 3*pieces*tt.n, 2*tt.n
			if tt.packed {
				distance = tt.n
			}
			host, at, err := v.HostAlloc(size)
			if err != nil {
				t.Fatal(err)
			}
			b := unsafe.Slice((*byte)(host), size)
			for i := range b[:pieces*tt.n] {
				b[i] = byte(i*7 + i>>8)
			}
			clear(b[pieces*tt.n:])
			s, err := dev.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			plain, rows := count(log, "cuMemcpyAsync"), count(log, "cuMemcpy2DAsync_v2")
			if err := errors.Join(dev.Copies(s, piecesOf(at+gpu.Address(pieces*tt.n), at, tt.n, distance, tt.order), gpu.CopyIn), dev.SyncStream(s)); err != nil {
				t.Fatal(err)
			}
			plain, rows = count(log, "cuMemcpyAsync")-plain, count(log, "cuMemcpy2DAsync_v2")-rows
			if tt.plain >= 0 && plain != tt.plain || tt.rows >= 0 && rows != tt.rows || plain+rows > pieces+1 && tt.n > 7 {
				t.Errorf("%d plain copies and %d of rows", plain, rows)
			}
			for i := range uint64(pieces) {
				to := b[pieces*tt.n+i*distance:]
				if !slices.Equal(to[:tt.n], b[i*tt.n:(i+1)*tt.n]) || !tt.packed && i < pieces-1 && slices.ContainsFunc(to[tt.n:2*tt.n], func(c byte) bool { return c != 0 }) {
					t.Fatalf("piece %d is wrong", i)
				}
			}
			if err := errors.Join(dev.CloseStream(s), v.HostFree(host), v.Close()); err != nil {
				t.Error(err)
			}
			log.Check()
		})
	}
}

// TestCopiesFail: an error names the driver's call.
func TestCopiesFail(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	own, err := v.OwnContext("test")
	if err != nil {
		t.Fatal(err)
	}
	host, at, err := v.HostAlloc(64)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.CloseStream(s); err != nil {
		t.Fatal(err)
	}
	for call, copies := range map[string][]gpu.Copy{
		"cuMemcpyAsync":      {{To: at + 8, From: at, N: 1, Rows: 1}},
		"cuMemcpy2DAsync_v2": {{To: at + 16, From: at, N: 4, Rows: 1}, {To: at + 24, From: at + 4, N: 4, Rows: 1}},
	} {
		if err := own.Copies(s, copies, gpu.CopyIn); err == nil || !strings.Contains(err.Error(), "copy memory on") || !strings.Contains(err.Error(), call+":") {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := errors.Join(v.HostFree(host), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
}

// TestBatchedCopies: copies out and in that do not join are one call, from fewestBatched on and if
// their order has no effect; those in, in the library's own context, only with MPS, and otherwise a
// call of two rows each. A driver that refuses the call is not asked again, and all bytes arrive.
func TestBatchedCopies(t *testing.T) {
	const n, most = 96, 64
	for _, tt := range []struct {
		name           string
		settings       string
		copies         int
		step           int // of the destinations, in copies; 0: all at one place
		pairs          bool
		direction      gpu.Direction
		own            bool // in the library's own context
		batches, plain int  // of two lists; the others are copies of rows
	}{
		{"many", "", most, 1, false, gpu.CopyOut, false, 2, 0},
		{"many in", "attribute133=0", most, 1, false, gpu.CopyIn, false, 2, 0},
		{"many across", "", most, 1, false, gpu.CopyAcross, false, 0, 2 * most},
		{"many pairs of rows", "", most, 1, true, gpu.CopyOut, false, 2, 0},
		{"the fewest", "", fewestBatched, 1, false, gpu.CopyOut, false, 2, 0},
		{"few", "", fewestBatched - 1, 1, false, gpu.CopyOut, false, 0, 2 * (fewestBatched - 1)},
		{"to one place", "", 12, 0, false, gpu.CopyOut, false, 0, 24},
		{"refused", "unbatched=1", 12, 1, false, gpu.CopyOut, false, 1, 24},
		{"out of the own context", "attribute133=0", most, 1, false, gpu.CopyOut, true, 2, 0},
		{"into the own context with MPS", "attribute133=1", most, 1, false, gpu.CopyIn, true, 2, 0},
		{"into the own context", "attribute133=0", most, 1, false, gpu.CopyIn, true, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := cudatest.Set(t, tt.settings)
			v := mustDevice(t, cudatest.Build(t))
			host, at, err := v.HostAlloc(4 * most * n)
			if err != nil {
				t.Fatal(err)
			}
			dev := v
			if tt.own {
				if dev, err = v.OwnContext("test"); err != nil {
					t.Fatal(err)
				}
			}
			b := unsafe.Slice((*byte)(host), 4*most*n)
			s, err := dev.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			batches, plain, rows := count(log, "cuMemcpyBatchAsync_v2"), count(log, "cuMemcpyAsync"), count(log, "cuMemcpy2DAsync_v2")
			order := make([]int, tt.copies) // backwards, so that copies do not join
			for i := range order {
				order[i] = tt.copies - 1 - i
				if tt.pairs {
					order[i] ^= 1
				}
			}
			for round := range 2 {
				for i := range b[:2*most*n] {
					b[i] = byte(i*5 + i>>8 + round)
				}
				clear(b[2*most*n:])
				var copies []gpu.Copy
				for i, k := range order {
					copies = append(copies, gpu.Copy{To: at + gpu.Address(2*most*n+i*tt.step*n), From: at + gpu.Address(2*k*n+k%3), N: n, Rows: 1})
				}
				if err := errors.Join(dev.Copies(s, copies, tt.direction), dev.SyncStream(s)); err != nil {
					t.Fatal(err)
				}
				for i, k := range order {
					if tt.step == 0 && i < tt.copies-1 {
						continue // the last one is what remains
					}
					if to := b[2*most*n+i*tt.step*n:]; !slices.Equal(to[:n], b[2*k*n+k%3:][:n]) {
						t.Errorf("round %d: copy %d is wrong", round, i)
					}
				}
			}
			batches, plain, rows = count(log, "cuMemcpyBatchAsync_v2")-batches, count(log, "cuMemcpyAsync")-plain, count(log, "cuMemcpy2DAsync_v2")-rows
			wantRows := 0
			if tt.batches+tt.plain == 0 {
				wantRows = 2 * tt.copies
			}
			if batches != tt.batches || plain != tt.plain || rows != wantRows {
				t.Errorf("%d batched calls, %d plain copies and %d of rows, want %d, %d and %d", batches, plain, rows, tt.batches, tt.plain, wantRows)
			}
			if err := errors.Join(dev.CloseStream(s), v.HostFree(host), v.Close()); err != nil {
				t.Error(err)
			}
			log.Check()
		})
	}
}
