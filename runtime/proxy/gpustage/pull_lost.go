package gpustage

import (
	"slices"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// When a PE is lost, a chunk into which the provider reads belongs to the provider until it
// completes the read. So the reads from that PE stay, and the rest of its pulls is dropped.

// Drop drops the pulls from a lost PE. The provider completes the reads that it has later, and
// still writes to their memory until then: these pulls are only marked, and handleLostRead frees
// them.
func (p *pulls) Drop(pe libshmem.PE) {
	for t := fabric.Token(layout.Receives); t < layout.Tokens; t++ {
		if q := p.reads[t].pull; q != nil && q.PE == pe {
			q.lost = true
		}
	}
	for i := range p.late.Len() {
		if q := p.late.At(i).pull; q.PE == pe {
			q.lost = true
		}
	}
	kept := p.waiting[:0]
	for _, q := range p.waiting {
		if q.PE != pe {
			kept = append(kept, q)
		} else if !q.lost && q.Get != 0 { // the pulls of puts are in peer.pulls, too
			p.forget(q)
		}
	}
	clear(p.waiting[len(kept):])
	p.waiting = kept
	peer := &p.from[pe]
	for peer.pulls.Len() > 0 {
		switch q := peer.pulls.Pop(); {
		case q.done:
			p.spare = append(p.spare, q)
		case !q.lost:
			p.forget(q)
		}
	}
	peer.Pulls.Done = peer.Pulls.All
	peer.failed = time.Time{}
	p.failing = slices.DeleteFunc(p.failing, func(failing libshmem.PE) bool { return failing == pe })
}

// Reads returns the number of reads of a get that the provider has not completed.
func (p *pulls) Reads(get uint32) (n int) {
	for t := fabric.Token(layout.Receives); t < layout.Tokens; t++ {
		if q := p.reads[t].pull; q != nil && q.Get == get {
			n++
		}
	}
	return n
}

// forget frees the record of a pull that has no read under way.
func (p *pulls) forget(q *pull) {
	p.underWay--
	p.spare = append(p.spare, q)
}

// handleLostRead handles the completion of a read from a lost PE: it frees the chunk and, after the
// last read, the pull.
func (p *pulls) handleLostRead(r *pullRead) {
	q := r.pull
	if q.GPU {
		p.chunks.ReleaseFor(q.PE, r.chunk)
	}
	if q.Get != 0 {
		p.gets.LostRead(q.Get)
	}
	if q.landed += r.n; q.landed == q.begun {
		p.forget(q)
	}
}
