package mrcache

import (
	"errors"
	"os"
	"slices"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/mrcache/memmonitor"
)

// Registrar registers memory with a NIC, as a fabric.Provider does.
type Registrar interface {
	Register(base unsafe.Pointer, n uint64) (fabric.Region, error)
	Unregister(fabric.Region) error
}

// Watch reports memory that was added to it and has been unmapped, or mapped anew, since then. Such
// memory has other pages now, or none. *memmonitor.Watch implements it.
type Watch interface {
	Add(memmonitor.Span) error // an error: this memory cannot be watched
	// Changes calls a function for each change since the last call. It returns false, and calls
	// nothing, while a change is under way whose range is not known yet.
	Changes(func(memmonitor.Span)) bool
	Close() error
}

// Limits bound the registrations that a Cache keeps: their bytes and their number.
type Limits struct {
	Bytes   uint64
	Regions int
}

// Counts are the events of a Cache so far, and its contents.
type Counts struct {
	Hits    uint64 // operations that found their memory registered
	Misses  uint64 // registrations that were made and kept
	Single  uint64 // registrations for one operation only
	Stale   uint64 // registrations dropped because their memory had other pages
	Evicted uint64 // registrations dropped because a limit of the Cache or of the NIC was reached
	Bytes   uint64 // bytes of the registrations kept now
	Regions uint64 // how many are kept now
}

// Cache keeps the registrations of one provider.
type Cache struct {
	registrar Registrar
	watch     Watch // nil: the Cache keeps no registration
	limits    Limits
	page      uint64
	drop      func(memmonitor.Span) // c.change, made once, because a method value allocates memory

	// table has the kept regions, sorted by where they begin. No region lies within another, so the
	// table is also sorted by where they end.
	table  []*Region
	oldest Region  // head of a circular list of the regions in the table: its newer was used longest ago
	errs   []error // errors that Close returns
	counts Counts
}

// Region is a registration that a Cache has made, for one operation or to be kept.
type Region struct {
	fabric.Region
	memmonitor.Span
	users        int     // operations that use it
	kept         bool    // it is in the Cache's table, and stays registered when it has no users
	newer, older *Region // the neighbours in the list of regions by last use
}

// New makes an empty cache. The cache closes the watch. Without a watch (nil), or with a limit of
// 0, each registration serves one operation only.
func New(r Registrar, watch Watch, limits Limits) *Cache {
	c := &Cache{registrar: r, watch: watch, limits: limits, page: uint64(os.Getpagesize())}
	c.drop = c.change
	c.oldest.newer, c.oldest.older = &c.oldest, &c.oldest
	if limits.Bytes == 0 || limits.Regions == 0 {
		c.errs = append(c.errs, c.unwatch())
	}
	return c
}

// unwatch closes the watch. From then on no new registration stays in the cache, because the cache
// would not notice that its memory is unmapped.
func (c *Cache) unwatch() error {
	if c.watch == nil {
		return nil
	}
	w := c.watch
	c.watch = nil
	return w.Close()
}

// Counts returns the events so far, and the present contents.
func (c *Cache) Counts() Counts { return c.counts }

// Get returns a registration of n bytes for one operation, after which the caller calls Put. It
// returns a kept registration that contains the bytes, or makes one. A new one has whole pages, so
// that later operations on memory in the same pages use it, too.
func (c *Cache) Get(at unsafe.Pointer, n uint64) (*Region, error) {
	begin := uint64(uintptr(at))
	// Changes is false while a change is under way whose range is not known: a kept registration
	// may then have old pages.
	if c.watch == nil || !c.watch.Changes(c.drop) {
		return c.single(at, n)
	}
	if r := c.find(begin, begin+n); r != nil {
		r.users++
		c.use(r)
		c.counts.Hits++
		return r, nil
	}
	pages := memmonitor.Span{Begin: begin &^ (c.page - 1), End: (begin + n + c.page - 1) &^ (c.page - 1)}
	for _, s := range []memmonitor.Span{c.widen(pages), pages} {
		if r := c.add(s); r != nil {
			r.users++
			c.counts.Misses++
			return r, nil
		}
	}
	return c.single(at, n)
}

// Put ends the use of a registration that Get has returned, after its operation has completed. It
// unregisters the memory if that was the last use and the registration is not kept.
func (c *Cache) Put(r *Region) error {
	if r.users--; r.users > 0 || r.kept {
		return nil
	}
	return c.registrar.Unregister(r.Region)
}

// Close ends all registrations, none of which may be in use, and returns the errors so far.
func (c *Cache) Close() error {
	for len(c.table) > 0 {
		c.remove(len(c.table) - 1)
	}
	errs := append(c.errs, c.unwatch())
	c.errs = nil
	return errors.Join(errs...)
}

// single registers memory for one operation only, because the cache cannot keep the registration.
func (c *Cache) single(at unsafe.Pointer, n uint64) (*Region, error) {
	registered, err := c.register(at, n)
	if err != nil {
		return nil, err
	}
	c.counts.Single++
	return &Region{Region: registered, users: 1}, nil
}

// register registers memory. While the provider refuses, it evicts a kept registration and tries
// again, because NICs limit the number and the bytes of registrations.
func (c *Cache) register(at unsafe.Pointer, n uint64) (fabric.Region, error) {
	registered, err := c.registrar.Register(at, n)
	for err != nil && c.evict() {
		registered, err = c.registrar.Register(at, n)
	}
	return registered, err
}

// find returns the region that contains a span, or nil. No region contains another, so only the
// last region that begins at or before the span can contain it.
func (c *Cache) find(begin, end uint64) *Region {
	if i := c.after(begin) - 1; i >= 0 && c.table[i].End >= end {
		return c.table[i]
	}
	return nil
}

// after returns the index, in the sorted table, of the first region that begins at a higher address
// than `at`.
func (c *Cache) after(at uint64) int {
	low, high := 0, len(c.table)
	for low < high {
		if m := (low + high) / 2; c.table[m].Begin <= at {
			low = m + 1
		} else {
			high = m
		}
	}
	return low
}

// widen returns a span joined with the regions that it overlaps, as long as the result has at most
// twice the size of the span. Otherwise a program that uses memory in overlapping steps would
// register a part of the memory again in each step.
func (c *Cache) widen(s memmonitor.Span) memmonitor.Span {
	limit := 2 * (s.End - s.Begin)
	for i := max(c.after(s.Begin)-1, 0); i < len(c.table) && c.table[i].Begin < s.End; i++ {
		r := c.table[i]
		if w := (memmonitor.Span{Begin: min(s.Begin, r.Begin), End: max(s.End, r.End)}); r.End > s.Begin && w.End-w.Begin <= limit {
			s = w
		}
	}
	return s
}

// add registers a span and keeps the registration. It returns nil if the memory cannot be watched
// or registered, or would exceed the limits of the Cache although all unused registrations were
// evicted.
func (c *Cache) add(s memmonitor.Span) *Region {
	n := s.End - s.Begin
	if n > c.limits.Bytes || c.watch.Add(s) != nil {
		return nil
	}
	for c.counts.Bytes+n > c.limits.Bytes || len(c.table) >= c.limits.Regions {
		if !c.evict() {
			return nil
		}
	}
	registered, err := c.register(pointer(s.Begin), n)
	if err != nil {
		return nil
	}
	// The new region replaces those within it, which are neighbours in the table.
	i, _ := slices.BinarySearchFunc(c.table, s.Begin, func(r *Region, at uint64) int {
		if r.Begin < at {
			return -1
		}
		return 1
	})
	for i < len(c.table) && c.table[i].End <= s.End {
		c.remove(i)
	}
	r := &Region{Region: registered, Span: s, kept: true}
	c.table = slices.Insert(c.table, i, r)
	c.counts.Bytes += n
	c.counts.Regions++
	r.newer, r.older = r, r
	c.use(r)
	return r
}

// use moves region r to the end of the list that is sorted by last use, so that r is evicted last.
func (c *Cache) use(r *Region) {
	r.newer.older, r.older.newer = r.older, r.newer
	r.newer, r.older = &c.oldest, c.oldest.older
	r.older.newer, c.oldest.older = r, r
}

// evict ends the least recently used registration among those without users. It returns false if
// all registrations have users.
func (c *Cache) evict() bool {
	for r := c.oldest.newer; r != &c.oldest; r = r.newer {
		if r.users == 0 {
			c.counts.Evicted++
			c.remove(slices.Index(c.table, r))
			return true
		}
	}
	return false
}

// change removes the registrations that overlap the memory s, whose pages have changed, because the
// NIC would access the old pages through them.
func (c *Cache) change(s memmonitor.Span) {
	i := max(c.after(s.Begin)-1, 0)
	for i > 0 && c.table[i-1].End > s.Begin {
		i--
	}
	for i < len(c.table) && c.table[i].Begin < s.End {
		if c.table[i].End <= s.Begin {
			i++
			continue
		}
		c.counts.Stale++
		c.remove(i)
	}
}

// remove removes the i-th region from the table. If it is in use, it stays registered until Put.
func (c *Cache) remove(i int) {
	r := c.table[i]
	c.table = slices.Delete(c.table, i, i+1)
	r.newer.older, r.older.newer = r.older, r.newer
	r.kept = false
	c.counts.Bytes -= r.End - r.Begin
	c.counts.Regions--
	if r.users == 0 {
		if err := c.registrar.Unregister(r.Region); err != nil {
			c.errs = append(c.errs, err)
		}
	}
}
