package mrcache_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/mrcache/memmonitor"
)

// book is a registrar that records its calls.
type book struct {
	t       *testing.T
	live    map[int]fabric.Region
	next    int
	room    uint64                       // bytes that may be registered; 0: any
	refuse  func(begin, end uint64) bool // nil: nothing
	unasked error                        // of Unregister
	calls   int
}

func (b *book) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	b.calls++
	total := n
	for _, r := range b.live {
		total += r.Len
	}
	at := uint64(uintptr(base))
	if b.room != 0 && total > b.room || b.refuse != nil && b.refuse(at, at+n) {
		return fabric.Region{}, unix.ENOMEM
	}
	b.next++
	r := fabric.Region{Base: base, Len: n, Desc: uintptr(b.next), ID: b.next}
	b.live[b.next] = r
	return r, nil
}

func (b *book) Unregister(r fabric.Region) error {
	if _, ok := b.live[r.ID]; !ok {
		b.t.Errorf("region %d is not registered", r.ID)
	}
	delete(b.live, r.ID)
	return b.unasked
}

// hearsay is a Watch that reports the test's changes.
type hearsay struct {
	changes []memmonitor.Span
	busy    bool
	refuse  bool
	closed  bool
}

func (h *hearsay) Add(memmonitor.Span) error {
	if h.refuse {
		return errors.New("not here")
	}
	return nil
}

func (h *hearsay) Changes(f func(memmonitor.Span)) bool {
	for _, s := range h.changes {
		f(s)
	}
	h.changes = nil
	return !h.busy
}

func (h *hearsay) Close() error { h.closed = true; return nil }

func newCache(t *testing.T, l mrcache.Limits) (*mrcache.Cache, *book, *hearsay) {
	b, h := &book{t: t, live: map[int]fabric.Region{}}, &hearsay{}
	return mrcache.New(b, h, l), b, h
}

// get takes pages from to before end, and gives them back unless hold.
func get(t *testing.T, c *mrcache.Cache, from, end uint64, hold bool) *mrcache.Region {
	t.Helper()
	at := from*page + 8
	r, err := c.Get(mrcache.Pointer(at), (end-from)*page-16)
	if err != nil {
		t.Fatal(err)
	}
	if base := uint64(uintptr(r.Base)); base > at || base+r.Len < end*page-8 {
		t.Errorf("pages %d to %d: got %d bytes at page %d", from, end, r.Len, base/page)
	}
	if !hold {
		if err := c.Put(r); err != nil {
			t.Error(err)
		}
	}
	return r
}

func TestReuse(t *testing.T) {
	c, b, h := newCache(t, limits)
	get(t, c, 100, 110, false)
	get(t, c, 100, 110, false)
	get(t, c, 103, 104, false)
	if b.calls != 1 {
		t.Errorf("%d registrations for one buffer", b.calls)
	}
	get(t, c, 108, 114, false) // 14 pages are more than twice 6
	if len(b.live) != 2 {
		t.Errorf("%d registrations of two that overlap a little", len(b.live))
	}
	get(t, c, 104, 112, false) // 14 pages
	if n := c.Counts(); len(b.live) != 1 || n.Regions != 1 || n.Bytes != 14*page {
		t.Errorf("%d registrations after one that joins them: %+v", len(b.live), n)
	}
	get(t, c, 114, 120, false)
	if len(b.live) != 2 {
		t.Errorf("%d registrations: neighbours are not joined", len(b.live))
	}
	if err := c.Close(); err != nil || len(b.live) != 0 || !h.closed {
		t.Errorf("close: %v, %d left, watch closed %v", err, len(b.live), h.closed)
	}
}

// A step through memory must not register all of it again with each step.
func TestStream(t *testing.T) {
	c, b, _ := newCache(t, mrcache.Limits{Bytes: 1 << 30, Regions: 1 << 10})
	total := uint64(0)
	for i := range uint64(200) {
		before := b.next
		r := get(t, c, 1000+i*9, 1000+i*9+10, false)
		if b.next != before {
			total += r.Len
		}
	}
	if total > 3*200*10*page {
		t.Errorf("%d pages were registered for 2000", total/page)
	}
}

func TestLimits(t *testing.T) {
	c, b, _ := newCache(t, mrcache.Limits{Bytes: 100 * page, Regions: 4})
	for i := range uint64(4) {
		get(t, c, 1000*i, 1000*i+10, false)
	}
	get(t, c, 0, 10, false) // the newest now
	get(t, c, 5000, 5010, false)
	calls := b.calls
	get(t, c, 0, 10, false)
	if b.calls != calls || len(b.live) != 4 {
		t.Errorf("%d live, and the one used last is there: %v", len(b.live), b.calls == calls)
	}
	get(t, c, 1000, 1010, false)
	if b.calls != calls+1 {
		t.Error("the one not used for longest is still there")
	}
	get(t, c, 9000, 9090, false) // only one of ten pages fits beside it
	if n := c.Counts(); n.Bytes != 100*page || n.Regions != 2 {
		t.Errorf("%+v", n)
	}
	held := get(t, c, 20000, 20060, true)
	single := get(t, c, 30000, 30050, true) // there is room only without the one in use
	if n := c.Counts(); n.Single != 1 || n.Bytes != 60*page {
		t.Errorf("with one in use: %+v", n)
	}
	if got := get(t, c, 40000, 40101, false); got.Len != 101*page-16 {
		t.Errorf("more than the cache may have: %d bytes", got.Len)
	}
	if err := errors.Join(c.Put(held), c.Put(single)); err != nil || len(b.live) != 1 {
		t.Errorf("%v, %d live", err, len(b.live))
	}
}

func TestChangedInUse(t *testing.T) {
	c, b, h := newCache(t, limits)
	held := get(t, c, 100, 110, true)
	h.changes = []memmonitor.Span{{Begin: 109 * page, End: 110 * page}}
	other := get(t, c, 100, 110, false)
	if other == held || len(b.live) != 2 {
		t.Errorf("a registration over memory that has changed was given out, %d live", len(b.live))
	}
	if err := c.Put(held); err != nil || len(b.live) != 1 {
		t.Errorf("given back: %v, %d live", err, len(b.live))
	}
}

func TestDoubt(t *testing.T) {
	c, b, h := newCache(t, limits)
	get(t, c, 100, 110, false)
	h.busy = true
	get(t, c, 100, 110, false)
	if n := c.Counts(); n.Single != 1 || n.Hits != 0 || b.calls != 2 {
		t.Errorf("while something is changing: %+v", n)
	}
	h.busy, h.refuse = false, true
	get(t, c, 100, 110, false)
	get(t, c, 200, 210, false)
	if n := c.Counts(); n.Single != 2 || n.Hits != 1 || len(b.live) != 1 {
		t.Errorf("memory that cannot be watched: %+v", n)
	}
	for _, off := range []*mrcache.Cache{mrcache.New(b, nil, limits), mrcache.New(b, h, mrcache.Limits{Regions: 5})} {
		get(t, off, 100, 110, false)
		get(t, off, 100, 110, false)
		if n := off.Counts(); n.Single != 2 || n.Regions != 0 || len(b.live) != 1 {
			t.Errorf("a cache that is off: %+v", n)
		}
	}
	if !h.closed {
		t.Error("a cache of no size keeps its watch")
	}
}

func TestRegistrarRefuses(t *testing.T) {
	c, b, _ := newCache(t, limits)
	b.room = 20 * page
	get(t, c, 0, 10, false)
	get(t, c, 100, 110, false)
	get(t, c, 200, 215, false) // gives up both
	if n := c.Counts(); n.Regions != 1 || n.Evicted != 2 {
		t.Errorf("with little memory to lock: %+v", n)
	}
	b.refuse = func(begin, end uint64) bool { return begin%page == 0 && end > 300*page }
	get(t, c, 300, 310, false) // the whole pages are not all there
	if n := c.Counts(); n.Single != 1 {
		t.Errorf("%+v", n)
	}
	b.refuse = func(uint64, uint64) bool { return true }
	if _, err := c.Get(mrcache.Pointer(400*page), 5); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("memory that cannot be registered: %v", err)
	}
	b.refuse = nil
	get(t, c, 0, 10, false)
	b.unasked = errors.New("no such key")
	if err := c.Close(); !errors.Is(err, b.unasked) {
		t.Errorf("close: %v", err)
	}
}

// TestAtRandom compares with a page-by-page model: a registration may be used only
// while none of its pages has changed since it was made.
func TestAtRandom(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			c, b, h := newCache(t, mrcache.Limits{Bytes: 300 * page, Regions: 9})
			var age [400]int // when the page changed last
			made := map[int]int{}
			var held []*mrcache.Region
			for step := 1; step < 2000; step++ {
				from := uint64(rng.IntN(360))
				end := from + 1 + uint64(rng.IntN(40))
				switch k := rng.IntN(10); {
				case k == 0:
					h.changes = append(h.changes, memmonitor.Span{Begin: from * page, End: end * page})
					for i := from; i < end; i++ {
						age[i] = step
					}
				case k < 8:
					h.busy = rng.IntN(20) == 0
					before := b.next
					r := get(t, c, from, end, true)
					for id := before + 1; id <= b.next; id++ {
						made[id] = step
					}
					for i := from; i < end; i++ {
						if made[r.ID] < age[i] {
							t.Fatalf("step %d: page %d has changed since region %d was made", step, i, r.ID)
						}
					}
					if _, ok := b.live[r.ID]; !ok {
						t.Fatalf("step %d: region %d is not registered", step, r.ID)
					}
					held = append(held, r)
				case len(held) > 0:
					i := rng.IntN(len(held))
					if err := c.Put(held[i]); err != nil {
						t.Fatal(err)
					}
					held = append(held[:i], held[i+1:]...)
				}
				if n := c.Counts(); n.Bytes > 300*page || n.Regions > 9 || int(n.Regions) > len(b.live) {
					t.Fatalf("step %d: %+v, %d live", step, n, len(b.live))
				}
			}
			for _, r := range held {
				if err := c.Put(r); err != nil {
					t.Fatal(err)
				}
			}
			if n := c.Counts(); int(n.Regions) != len(b.live) || n.Hits == 0 || n.Stale == 0 || n.Evicted == 0 {
				t.Errorf("%+v, %d live", n, len(b.live))
			}
			if err := c.Close(); err != nil || len(b.live) != 0 {
				t.Errorf("close: %v, %d left", err, len(b.live))
			}
		})
	}
}
