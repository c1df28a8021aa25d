package statuspage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"structs"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
)

// Kind says whether a page describes a PE or an endpoint.
type Kind uint32

// The kinds.
const (
	OfPE Kind = iota + 1
	OfEndpoint
)

// fileName is the name of a page's file in /proc.
const fileName = "libshmem-live"

// head is the beginning of each page. Create writes magic last, so that a reader that finds magic
// finds the rest complete.
type head struct {
	_       structs.HostLayout
	magic   uint64
	version [32]byte
	kind    Kind
	pid     int32
	size    uint64 // bytes of the page, with this head
	_       [8]byte
}

// magic marks a complete status page: the bytes "shemlive", in little endian.
const magic = 0x6576696c6d656873

// HeadSize is the size of the head of a page.
const HeadSize = 64

var _ [HeadSize]byte = [unsafe.Sizeof(head{})]byte{}

// Page is a status page that this process writes.
type Page struct {
	file   int    // the descriptor of the memory file
	memory []byte // the mapped file, with the head
}

// Create makes a page of a kind with n zero bytes after its head: a memfd, which other processes
// open in /proc. The head's magic number is stored last, when the head is complete.
func Create(kind Kind, n int) (*Page, error) {
	fd, err := unix.MemfdCreate(fileName, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a page that others may read: %w", err)
	}
	size := HeadSize + n
	p := &Page{file: fd}
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		p.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("map %d bytes that others may read: %w", size, err)
	}
	h := (*head)(unsafe.Pointer(&p.memory[0]))
	copy(h.version[:], libshmem.Version)
	h.kind, h.pid, h.size = kind, int32(os.Getpid()), uint64(size)
	atomic.StoreUint64(&h.magic, magic)
	return p, nil
}

// Bytes returns the bytes of the page after its head.
func (p *Page) Bytes() []byte { return p.memory[HeadSize:] }

// At returns the address of the page's bytes after its head.
func (p *Page) At() unsafe.Pointer { return unsafe.Pointer(&p.memory[HeadSize]) }

// Close unmaps the page and closes its nameless file, which the kernel then frees once no reader
// has it open: other processes no longer find it.
func (p *Page) Close() error {
	if err := unix.Munmap(p.memory); err != nil {
		return err
	}
	return unix.Close(p.file)
}

// NewPE makes the status page of this PE, and returns the page and its content.
func NewPE(me libshmem.PE, npes, nodes int) (*Page, *PE, error) {
	p, err := Create(OfPE, int(unsafe.Sizeof(PE{})))
	if err != nil {
		return nil, nil, err
	}
	pe := (*PE)(p.At())
	pe.Me, pe.NPEs, pe.Nodes, pe.Began = int32(me), int32(npes), int32(nodes), time.Now().UnixNano()
	return p, pe, nil
}

// View is a status page of another process, opened to be read.
type View struct {
	Kind Kind
	file *os.File
	info os.FileInfo // identifies the page
	size int         // bytes of the page after its head
}

// samePage reports whether v and w are views of the same page.
func (v *View) samePage(w *View) bool { return os.SameFile(v.info, w.info) }

// Bytes returns a copy of the page's bytes after its head, as they are now. It does not map the
// page: that would allocate memory for bytes that the PE has never touched.
func (v *View) Bytes() ([]byte, error) {
	b := make([]byte, v.size)
	_, err := v.file.ReadAt(b, HeadSize)
	return b, err
}

// ReadAt fills b with the page's bytes from offset `at` on, counted from the end of the head, as
// they are now.
func (v *View) ReadAt(b []byte, at int64) (int, error) { return v.file.ReadAt(b, HeadSize+at) }

// PE returns a copy of the content of a PE's page, as it is now. v.Kind has to be OfPE: view has
// checked the size of such a page.
func (v *View) PE() (*PE, error) {
	b, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	return (*PE)(unsafe.Pointer(&b[0])), nil
}

// Close closes the view.
func (v *View) Close() error { return v.file.Close() }

// strangerError reports a file that is not a status page of the process that has the file open, for
// example because a child has inherited the descriptor. pid is the process whose page the file is,
// or 0 if it is no page.
type strangerError struct{ pid int }

// Error names the process whose page the file is.
func (e *strangerError) Error() string { return fmt.Sprintf("a page of process %d", e.pid) }

// VersionError reports a page of another version.
type VersionError struct{ Version string }

// Error names the version of the page's library.
func (e *VersionError) Error() string { return "its libshmem is version " + e.Version }

// view opens a file of process pid as a status page. It returns a strangerError if the file is no
// page of that process, and a VersionError if the page is of another version of the library.
func view(file string, pid int) (*View, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	var h head
	_, err = f.ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(&h)), HeadSize), 0)
	info, err2 := f.Stat()
	if err = errors.Join(err, err2); errors.Is(err, io.EOF) {
		err = &strangerError{0}
	}
	if err == nil {
		switch version := Text(h.version[:]); {
		case h.magic != magic, h.size != uint64(info.Size()):
			err = &strangerError{0}
		case int(h.pid) != pid:
			err = &strangerError{int(h.pid)}
		case version != libshmem.Version:
			err = &VersionError{version}
		case h.kind == OfPE && h.size != HeadSize+uint64(unsafe.Sizeof(PE{})):
			err = &VersionError{version + ", of another build"}
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &View{h.kind, f, info, int(h.size - HeadSize)}, nil
}

// Text returns the text in an array of a page, which a zero byte ends unless the array is full.
func Text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
