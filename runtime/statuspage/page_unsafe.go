package statuspage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"structs"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
)

// Kind is the owner of a page.
type Kind uint32

// The kinds.
const (
	OfPE Kind = iota + 1
	OfEndpoint
)

// fileName is the name of a page's file in /proc.
const fileName = "libshmem-live"

// head begins each page. All of it is written before the file can be found, but for magic, which is
// last.
type head struct {
	_       structs.HostLayout
	magic   uint64
	version [32]byte
	kind    Kind
	pid     int32
	size    uint64 // of the whole
	_       [8]byte
}

const magic = 0x6576696c6d656873

// HeadSize is the size of the head of a page.
const HeadSize = 64

var _ [HeadSize]byte = [unsafe.Sizeof(head{})]byte{}

// Page is a page that this process writes.
type Page struct {
	file   int
	memory []byte
}

// Create makes a page with n bytes, which are 0.
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
	h.magic = magic
	return p, nil
}

// Bytes returns the bytes of the page.
func (p *Page) Bytes() []byte { return p.memory[HeadSize:] }

// At returns their address.
func (p *Page) At() unsafe.Pointer { return unsafe.Pointer(&p.memory[HeadSize]) }

// Close takes the page back.
func (p *Page) Close() error {
	if err := unix.Munmap(p.memory); err != nil {
		return err
	}
	return unix.Close(p.file)
}

// NewPE makes the page of a PE.
func NewPE(me libshmem.PE, npes, nodes int) (*Page, *PE, error) {
	p, err := Create(OfPE, int(unsafe.Sizeof(PE{})))
	if err != nil {
		return nil, nil, err
	}
	pe := (*PE)(p.At())
	pe.Me, pe.NPEs, pe.Nodes, pe.Began = int32(me), int32(npes), int32(nodes), time.Now().UnixNano()
	return p, pe, nil
}

// View is a page of another process.
type View struct {
	Kind Kind
	file *os.File
	info os.FileInfo
	size int
}

func (v *View) same(w *View) bool { return os.SameFile(v.info, w.info) }

// Bytes returns a copy of the bytes behind the head, as they are now. A mapping would take memory
// for untouched bytes of the page.
func (v *View) Bytes() ([]byte, error) {
	b := make([]byte, v.size)
	_, err := v.file.ReadAt(b, HeadSize)
	return b, err
}

// ReadAt copies bytes behind the head, as they are now.
func (v *View) ReadAt(b []byte, at int64) (int, error) { return v.file.ReadAt(b, HeadSize+at) }

// PE is the page of a PE, as it is now.
func (v *View) PE() (*PE, error) {
	b, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	return (*PE)(unsafe.Pointer(&b[0])), nil
}

// Close closes it.
func (v *View) Close() error { return v.file.Close() }

// strangerError is for files that are no pages of the process: a child has its parent's.
type strangerError struct{ pid int }

func (e *strangerError) Error() string { return fmt.Sprintf("a page of process %d", e.pid) }

// VersionError reports a page of another version.
type VersionError struct{ Version string }

func (e *VersionError) Error() string { return "its libshmem is version " + e.Version }

// view opens the page of a file.
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

// Text returns the text in an array of a page, up to its end.
func Text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
