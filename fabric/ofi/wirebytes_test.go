package ofi

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/tests/need"
)

// Offsets in the memory of both sides: where writes and reads of put bytes arrive and where they
// come from.
const (
	putAt, fromAt, putLen = 2048, 3072, 512
)

var wireFrom = flag.Int("wire.from", -1, "seed from which a process of TestChangedBytes goes on; -1: it is the one that starts them")

// TestChangedBytes changes a bit of what goes by a connection in use, either way: of libfabric's
// headers, of messages, of writes and of the answers of reads. libfabric has no MAC over these, so
// the test finds out what comes of it: a loss that is reported, operations that end with other
// bytes, a write that lands elsewhere in the memory of its key, operations that wait, or the end of
// the process inside libfabric, for which it runs in processes of its own. In no case does a
// completion name an operation that was not posted, or one twice.
func TestChangedBytes(t *testing.T) {
	if *wireFrom >= 0 {
		changeBytes(t, *wireFrom)
		return
	}
	linked(t)
	outcomes := map[string]int{}
	for seed, end := 0, need.Load("wire"); seed < end; {
		out, err := exec.Command(os.Args[0], "-test.run=^TestChangedBytes$", "-test.v", fmt.Sprintf("-wire.from=%d", seed)).CombinedOutput()
		for _, m := range regexp.MustCompile(`seed \d+ ends in (.*)`).FindAllSubmatch(out, -1) {
			outcomes[string(m[1])]++
			seed++
		}
		switch {
		case err == nil:
		case bytes.Contains(out, []byte("signal arrived during cgo execution")):
			outcomes["the end of the process inside libfabric"]++
			seed++
		default:
			t.Fatalf("seed %d: %v\n%s", seed, err, out)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%d times %s", outcomes[what], what)
	}
}

// changeBytes tries the seeds from one on.
func changeBytes(t *testing.T, from int) {
	for seed := uint64(from); seed < uint64(need.Load("wire")); seed++ {
		all, w := throughWire(t)
		message(t, all, all[0], 1)
		rng := rand.New(rand.NewPCG(seed, 3))
		back := rng.IntN(2) == 0
		w.mu.Lock()
		position := w.passed[number(back)]
		w.mu.Unlock()
		w.flips(back, position+rng.IntN(2*putLen), rng.IntN(8))
		t.Logf("seed %d ends in %s", seed, exchange(t, all, seed))
		for _, s := range all {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_ = w.listener.Close()
	}
}

// exchange posts a write, a read and messages of PE 0 and a message of PE 1, twice, and returns
// what came of them.
func exchange(t *testing.T, all []*side, seed uint64) string {
	t.Helper()
	type done struct {
		pe  int
		tok fabric.Token
	}
	ended := map[done]int{}
	for i, s := range all {
		s.came = nil
		for at := range putLen {
			s.mem[fromAt+at] = byte(i + at)
		}
	}
	key := func(to *side, at int) (remote, key uint64) {
		if to.Caps().VirtualAddress {
			return uint64(uintptr(to.at(at))), to.region.Key
		}
		return uint64(at), to.region.Key
	}
	put := fabric.RMA{PE: 1, Local: all[0].at(fromAt), Len: putLen, Desc: all[0].region.Desc, Token: 10}
	put.Remote, put.Key = key(all[1], putAt)
	get := fabric.RMA{PE: 1, Local: all[0].at(putAt), Len: putLen, Desc: all[0].region.Desc, Token: 11}
	get.Remote, get.Key = key(all[1], fromAt)
	say := fabric.Send{To: 1, Buf: unsafe.Pointer(&all[0].mem[1024]), Len: 32, Desc: all[0].region.Desc, Token: 12}
	answer := fabric.Send{To: 0, Buf: unsafe.Pointer(&all[1].mem[1024]), Len: 32, Desc: all[1].region.Desc, Token: 12}
	posts := []func() error{
		func() error { return all[0].Write(&put) }, func() error { return all[0].Read(&get) },
		func() error { return all[0].Send(&say) }, func() error { return all[1].Send(&answer) },
	}
	posted, arrived, reported := 0, 0, false
	for quiet := time.Now(); !reported && (posted < len(posts) || len(ended) < len(posts) || arrived < 2); {
		if posted < len(posts) {
			switch err := posts[posted](); {
			case err == nil:
				posted++
				quiet = time.Now()
			case err != fabric.ErrAgain:
				reported = true
			}
		}
		for i, s := range all {
			var c [8]fabric.Completion
			n, err := s.Poll(c[:])
			if err != nil {
				return "an error of a completion queue"
			}
			for _, c := range c[:n] {
				quiet = time.Now()
				switch {
				case c.Kind == fabric.KindTrouble || c.Err != 0:
					reported = true
				case c.Kind == fabric.KindRecv:
					arrived++
					continue
				}
				if c.Token >= 10 && c.Token <= 12 {
					if ended[done{i, c.Token}]++; ended[done{i, c.Token}] > 1 || posted == 0 {
						t.Fatalf("seed %d: %+v of PE %d comes %d times", seed, c, i, ended[done{i, c.Token}])
					}
				}
			}
		}
		if time.Since(quiet) > 300*time.Millisecond {
			return "operations that wait"
		}
	}
	switch {
	case reported:
		return "a report"
	case !bytes.Equal(all[1].mem[putAt:putAt+putLen], all[0].mem[fromAt:fromAt+putLen]) && bytes.Equal(all[1].mem[putAt:putAt+putLen], make([]byte, putLen)):
		return "a write that lands elsewhere"
	case !bytes.Equal(all[1].mem[putAt:putAt+putLen], all[0].mem[fromAt:fromAt+putLen]) || !bytes.Equal(all[0].mem[putAt:putAt+putLen], all[1].mem[fromAt:fromAt+putLen]):
		return "other bytes"
	}
	return "no harm to writes and reads"
}
