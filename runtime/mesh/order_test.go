package mesh

import (
	"slices"
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
)

// slowReads is a network on which reads overtake nothing, and are overtaken by all: their
// completions come late, as those of large reads do on a network without order.
type slowReads struct {
	fabric.Joiner
	reads map[fabric.Token]bool
	held  []late
}

// late is a completion, and when it comes.
type late struct {
	c   fabric.Completion
	due time.Time
}

// readTime is how late completions of reads are.
const readTime = 100 * time.Millisecond

// openSlowReads is a value of Options.Open.
func openSlowReads(c fabric.Config) (fabric.Provider, error) {
	p, err := ofi.Open(c)
	if err != nil {
		return nil, err
	}
	return &slowReads{Joiner: p.(fabric.Joiner), reads: map[fabric.Token]bool{}}, nil
}

func (s *slowReads) Native() fabric.Native { return fabric.Native{} }

func (s *slowReads) Read(r *fabric.RMA) error {
	err := s.Joiner.Read(r)
	if err == nil {
		s.reads[r.Token] = true
	}
	return err
}

func (s *slowReads) Poll(c []fabric.Completion) (int, error) {
	n, err := s.Joiner.Poll(c)
	kept := c[:0]
	for _, one := range c[:n] {
		if s.reads[one.Token] && one.Kind == fabric.KindRead {
			delete(s.reads, one.Token)
			s.held = append(s.held, late{one, time.Now().Add(readTime)})
			continue
		}
		kept = append(kept, one)
	}
	for len(s.held) > 0 && len(kept) < len(c) && time.Now().After(s.held[0].due) {
		kept = append(kept, s.held[0].c)
		s.held = slices.Delete(s.held, 0, 1)
	}
	return len(kept), err
}

// TestReadsOfClosing closes a region of which another member reads, on a network where later
// operations are complete before the reads. The region ends after the reads.
func TestReadsOfClosing(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, func(o *Options) { o.Open = openSlowReads })
	introduce(t, a, b)
	const size = 1 << 20
	region, remote := share(t, a, b, memory(t, size))
	back := memory(t, size)
	req, err := b.Get(0, remote, []Block{block(back, 0)})
	if err != nil {
		t.Fatal(err)
	}
	closing, err := region.Close()
	await(t, closing, err)
	b.e.WithLock(func() {
		if !req.tryEnd() {
			t.Error("the region was closed before its reads had ended")
		}
	})
	await(t, req)
}
