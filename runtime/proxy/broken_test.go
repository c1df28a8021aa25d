package proxy

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
)

// If a connection is gone, so is the PE: a write or a read may be the first to show it, before any
// message fails.
func TestBrokenConnections(t *testing.T) {
	for _, test := range []struct {
		what string
		kind fabric.Kind
		code unix.Errno
		gone bool
	}{
		{"write", fabric.KindWrite, unix.ECANCELED, true},
		{"read", fabric.KindRead, unix.ECANCELED, true},
		{"write", fabric.KindWrite, unix.EPIPE, true},
		{"write", fabric.KindWrite, unix.ECONNRESET, true},
		{"read", fabric.KindRead, unix.ECONNRESET, true},
		{"read", fabric.KindRead, unix.ENOTCONN, true},
		{"write", fabric.KindWrite, unix.EACCES, false},
		{"write where injected messages fail in silence", fabric.KindWrite, unix.EIO, true},
	} {
		m := modes[1]
		m.caps.MaxInject, m.caps.InjectSilent = 0, test.code == unix.EIO
		m.fail = func(o *work) int32 {
			if o.kind == test.kind && o.from == 0 {
				return int32(test.code)
			}
			return 0
		}
		j := newJob(t, m, 1, 2, 1<<20)
		a := j.pes[0]
		var told []libshmem.PE
		a.locked(func() { a.OnLost(func(pe libshmem.PE, _ error) { told = append(told, pe) }) })
		free := len(a.ops.Table.Free)
		buf := make([]byte, 10000)
		at := unsafe.Pointer(&buf[0])
		var first, second Request
		for _, r := range []*Request{&first, &second} {
			a.post(func() Status {
				if test.kind == fabric.KindRead {
					return a.Get(1, 0, at, 10, r)
				}
				return a.Put(1, 0, at, 10000, r)
			})
		}
		j.await("requests", func() bool { return first.Done != 0 && second.Done != 0 })
		var lost *LostError
		if errors.As(a.Err(), &lost) != test.gone || (len(told) == 1) != test.gone || len(told) > 1 {
			t.Errorf("%s with %v: %v, told of %v", test.what, test.code, a.Err(), told)
		}
		if first.Status == 0 || second.Status == 0 {
			t.Errorf("%s with %v: status %d and %d", test.what, test.code, first.Status, second.Status)
		}
		if !test.gone {
			a.quiet()
		}
		if got := len(a.ops.Table.Free); got != free {
			t.Errorf("%s with %v: %d tokens are free, want %d", test.what, test.code, got, free)
		}
	}
}

// A provider that makes connections names the PE that it has given up. That PE is lost, and no
// other; without a name each PE with operations under way is asked. A PE whose program has ended is
// not missed.
func TestNamedTrouble(t *testing.T) {
	for _, test := range []struct {
		of   libshmem.PE
		left bool
		lost []libshmem.PE
	}{
		{2, false, []libshmem.PE{2}},
		{2, true, nil},
		{libshmem.NoPE, false, nil},
		{3, false, nil},
	} {
		j := newJob(t, modes[1], 1, 3, 1<<20)
		a := j.pes[0]
		var told []libshmem.PE
		unnamed := 0
		a.Report.ReportTo(func(error) { unnamed++ })
		a.locked(func() {
			a.OnLost(func(pe libshmem.PE, _ error) { told = append(told, pe) })
			a.ops.Peers[2].Left = test.left
			c := fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindTrouble, Err: int32(unix.ECONNABORTED)}
			c.SetFrom(test.of)
			a.Complete([]fabric.Completion{c})
		})
		if !slices.Equal(told, test.lost) || a.ops.Net.IsLost(2) != (test.lost != nil) || a.ops.Net.IsLost(1) || (unnamed > 0) != !test.of.In(3) {
			t.Errorf("trouble of PE %d, left %v: told of %v, want %v; %d reports", test.of, test.left, told, test.lost, unnamed)
		}
	}
}
