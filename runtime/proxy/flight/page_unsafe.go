package flight

import (
	"errors"
	"fmt"
	"io"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/layout"
)

// Page reads the flight recorder in the page of another process.
type Page struct {
	page   io.ReaderAt
	counts int64 // offset of the count of the proxy thread's events
	peers  int64 // offset of the first peer
	rings  int64
	at     readings
}

// ReadPage returns a Page for the recorder whose head h the caller has read at the offset head of a
// page. The peers begin at the offset peers. Only Events reads a ring.
func (h *Head) ReadPage(page io.ReaderAt, head, peers uintptr) Page {
	return Page{page, int64(head + unsafe.Offsetof(h.recorded)), int64(peers), int64(h.Rings), h.readClocks()}
}

// Events lists the last events with a PE, like Recorder.Events. ring is the number of the PE's
// ring, which the caller has read from the peer's record.
func (p *Page) Events(pe libshmem.PE, ring uint32) ([]Recorded, error) {
	if ring == ownRing { // no event with this PE was recorded, so it has no ring of its own
		return nil, nil
	}
	const counted = int64(unsafe.Offsetof(layout.Peer{}.Recorded))
	ofPE, err := p.read(ring, p.peers+int64(pe)*int64(unsafe.Sizeof(layout.Peer{}))+counted)
	if err != nil {
		return nil, err
	}
	ofThread, err := p.read(ownRing, p.counts)
	if err != nil {
		return nil, err
	}
	return mergeByTime(ofPE, ofThread), nil
}

// read lists the events of ring n. The count of its events is at the offset counted of the page. It
// is read before and after the ring: entries that were overwritten meanwhile are left out.
func (p *Page) read(n uint32, counted int64) ([]Recorded, error) {
	var before, after uint32
	var r ring
	err := errors.Join(readAt(p.page, &before, counted), readAt(p.page, &r, p.rings+int64(n)*int64(unsafe.Sizeof(r))), readAt(p.page, &after, counted))
	if err != nil {
		return nil, err
	}
	return p.at.recorded(&r, before, after), nil
}

// readAt fills a variable from an offset of a page.
func readAt[T any](page io.ReaderAt, to *T, at int64) error {
	if _, err := page.ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(to)), unsafe.Sizeof(*to)), at); err != nil {
		return fmt.Errorf("read the page of an endpoint: %w", err)
	}
	return nil
}
