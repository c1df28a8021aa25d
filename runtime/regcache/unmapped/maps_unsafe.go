package unmapped

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

// maps reads the list of this process's mappings.
type maps struct {
	file *os.File
	text bool // the kernel does not answer single questions
}

// mapping is one line of the list.
type mapping struct {
	Span
	anonymous bool // and private
}

func openMaps() (*maps, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	return &maps{file: f}, nil
}

func (m *maps) Close() error { return m.file.Close() }

// query is struct procmap_query of linux/fs.h, since 6.11. Before, a question
// costs the text of the whole list.
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
	queryCode = 3<<30 | querySize<<16 | 'f'<<8 | 17
	queryNext = 0x10 // the mapping at the address, or the first behind it
	shared    = 0x08 // in vma
)

var _ [querySize]byte = [unsafe.Sizeof(query{})]byte{}

// over lists the mappings that have a part in a span, in ascending order.
func (m *maps) over(s Span) ([]mapping, error) {
	var found []mapping
	for at := s.Begin; at < s.End && !m.text; {
		q := query{size: querySize, flags: queryNext, addr: at}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, m.file.Fd(), queryCode, uintptr(unsafe.Pointer(&q)))
		switch {
		case errno == unix.ENOTTY:
			m.text = true
			continue
		case errno == unix.ENOENT || errno == 0 && q.start >= s.End:
			return found, nil
		case errno != 0:
			return nil, fmt.Errorf("PROCMAP_QUERY: %w", errno)
		}
		found = append(found, mapping{Span{q.start, q.end}, q.inode == 0 && q.vma&shared == 0})
		at = q.end
	}
	if m.text {
		return m.lines(s)
	}
	return found, nil
}

// lines is over for kernels that answer no questions.
func (m *maps) lines(s Span) ([]mapping, error) {
	if _, err := m.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var found []mapping
	in := bufio.NewScanner(m.file)
	for in.Scan() {
		var v mapping
		var rights, offset, device string
		var inode uint64
		if _, err := fmt.Sscanf(in.Text(), "%x-%x %s %s %s %d", &v.Begin, &v.End, &rights, &offset, &device, &inode); err != nil {
			return nil, fmt.Errorf("/proc/self/maps: line %q: %w", in.Text(), err)
		}
		if v.anonymous = inode == 0 && strings.HasSuffix(rights, "p"); v.Begin < s.End && v.End > s.Begin {
			found = append(found, v)
		}
	}
	return found, in.Err()
}

// whole is a span with all of the mappings that it has a part in. They are private
// anonymous memory without a gap, or that is the error.
func (m *maps) whole(s Span) (Span, error) {
	all, err := m.over(s)
	if err != nil {
		return s, err
	}
	at := s.Begin
	for _, v := range all {
		if v.Begin > at || !v.anonymous {
			break
		}
		at = v.End
	}
	if at < s.End {
		return s, fmt.Errorf("at %#x there is no private anonymous memory", at)
	}
	return Span{all[0].Begin, at}, nil
}

// anonymous lists the parts of spans that are private anonymous memory.
func (m *maps) anonymous(spans []Span) (parts []Span) {
	for _, s := range spans {
		all, err := m.over(s)
		if err != nil {
			all = []mapping{{s, true}}
		}
		for _, v := range all {
			if v.anonymous {
				parts = append(parts, Span{max(v.Begin, s.Begin), min(v.End, s.End)})
			}
		}
	}
	return parts
}
