// Package procmaps reads /proc/self/maps, the kernel's list of this process's mappings. It does not
// know what the memory is used for.
package procmaps

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mapping is one mapping of this process.
type Mapping struct {
	Begin, End         uint64
	Readable, Writable bool
	Anonymous          bool // the memory is anonymous and private
}

// List is the opened list of mappings. One goroutine at a time may use it.
type List struct {
	file *os.File
	// ByText is set when the kernel has no query for single mappings. Each call then reads the
	// whole text.
	ByText bool
}

// Open opens the list of mappings. It fails if /proc is not mounted.
func Open() (*List, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	return &List{file: f}, nil
}

// Close closes the list.
func (l *List) Close() error { return l.file.Close() }

// Fd returns the descriptor of the list.
func (l *List) Fd() uintptr { return l.file.Fd() }

// query is struct procmap_query of linux/fs.h, which came with Linux 6.11. On older kernels even
// one mapping takes the text of the whole list.
type query struct {
	_                 structs.HostLayout
	size, flags, addr uint64
	start, end, vma   uint64
	page, offset      uint64
	inode             uint64
	major, minor      uint32
	nameSize, idSize  uint32
	nameAddr, idAddr  uint64
}

const (
	querySize = 104
	queryCode = 3<<30 | querySize<<16 | 'f'<<8 | 17 // PROCMAP_QUERY: _IOWR('f', 17, struct procmap_query)
	queryNext = 0x10                                // requests the mapping at the address or, if there is none, the next one above
	// Bits of vma.
	readable = 0x01
	writable = 0x02
	shared   = 0x08
)

var _ [querySize]byte = [unsafe.Sizeof(query{})]byte{}

// Over lists the mappings that have a part in [begin, end), in ascending order: by an ioctl for
// each mapping (PROCMAP_QUERY) or, on older kernels, by the text of the file.
func (l *List) Over(begin, end uint64) ([]Mapping, error) {
	var found []Mapping
	for at := begin; at < end && !l.ByText; {
		q := query{size: querySize, flags: queryNext, addr: at}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, l.file.Fd(), queryCode, uintptr(unsafe.Pointer(&q)))
		switch {
		case errno == unix.ENOTTY:
			l.ByText = true
			continue
		case errno == unix.ENOENT || errno == 0 && q.start >= end:
			return found, nil
		case errno != 0:
			return nil, fmt.Errorf("PROCMAP_QUERY: %w", errno)
		}
		found = append(found, Mapping{
			Begin: q.start, End: q.end, Readable: q.vma&readable != 0, Writable: q.vma&writable != 0,
			Anonymous: q.inode == 0 && q.vma&shared == 0,
		})
		at = q.end
	}
	if l.ByText {
		return l.lines(begin, end)
	}
	return found, nil
}

// lines does the work of Over by reading the text of maps, on kernels without the query.
func (l *List) lines(begin, end uint64) ([]Mapping, error) {
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var found []Mapping
	in := bufio.NewScanner(l.file)
	for in.Scan() {
		var m Mapping
		var rights, offset, device string
		var inode uint64
		if _, err := fmt.Sscanf(in.Text(), "%x-%x %s %s %s %d", &m.Begin, &m.End, &rights, &offset, &device, &inode); err != nil {
			return nil, fmt.Errorf("/proc/self/maps: line %q: %w", in.Text(), err)
		}
		m.Readable, m.Writable = strings.HasPrefix(rights, "r"), strings.Contains(rights, "w")
		m.Anonymous = inode == 0 && strings.HasSuffix(rights, "p")
		if m.Begin < end && m.End > begin {
			found = append(found, m)
		}
	}
	return found, in.Err()
}
