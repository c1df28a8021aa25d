package tracefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"libshmem/runtime/shmerr"
)

const (
	window = 64 << 10 // bytes read at once
	// longest limits the bytes of one event. The head of a program with many calls that bypass the
	// shim is long.
	longest = 4 << 20
	// maxNames limits the number of names that a reader stores in order to reuse them.
	maxNames = 1 << 12
)

// ErrFormat is the kind of the errors about files that are not traces.
var ErrFormat = errors.New("not a trace")

// Reader reads one file.
type Reader struct {
	name   string
	src    io.Reader
	file   io.Closer
	buf    []byte
	i, n   int // how much of buf is read, and how much is filled
	ended  bool
	line   int
	events int64
	begun  bool
	object bool // the array is a member of an object
	array  bool // the array has begun
	done   error
	cut    *Cut
	heads  map[int]*Head
	names  map[string]string
}

// Open begins to read a file. Close it.
func Open(name string) (*Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		if p, ok := errors.AsType[*os.PathError](err); ok {
			err = p.Err
		}
		return nil, &shmerr.Error{Op: "read", Object: name, Cause: err, Remedy: "name the files of a trace"}
	}
	r := NewReader(name, f)
	r.file = f
	return r, nil
}

// NewReader returns a Reader of src, which errors call `name`.
func NewReader(name string, src io.Reader) *Reader {
	return &Reader{
		name: name, src: src, line: 1, buf: make([]byte, window),
		heads: map[int]*Head{}, names: map[string]string{},
	}
}

// Close closes the file.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Heads returns the heads of all PEs in the events so far. A head may change up to the end of the
// file.
func (r *Reader) Heads() map[int]*Head { return r.heads }

// Cut returns where the file ends, if Next has found that its writer did not complete it; otherwise
// nil.
func (r *Reader) Cut() *Cut { return r.cut }

// Next reads the next event into e. It returns io.EOF at the end, also at the end of an incomplete
// file.
func (r *Reader) Next(e *Event) error {
	if r.done == nil {
		r.done = r.next(e)
	}
	return r.done
}

// next reads the next event of the array, with the comma before it.
func (r *Reader) next(e *Event) error {
	if !r.begun {
		if err := r.begin(); err != nil {
			return err
		}
	}
	c, err := r.peek()
	if err != nil {
		return r.end(err, false)
	}
	if c == ']' {
		r.i++
		return r.tail()
	}
	if r.events > 0 {
		if c != ',' {
			return r.bad("%s stands where , or ] does", shown([]byte{c}))
		}
		r.i++
		if c, err = r.peek(); err != nil {
			return r.end(err, false)
		}
	}
	if c != '{' {
		return r.bad("%s stands where an event does", shown([]byte{c}))
	}
	line := r.line
	value, err := r.frame()
	if err != nil {
		return r.end(err, true)
	}
	if err := r.decode(value, e); err != nil {
		return r.badAt(line, "%w", err)
	}
	e.Line = line
	r.events++
	return nil
}

// begin reads up to the array of events.
func (r *Reader) begin() error {
	r.begun = true
	c, err := r.peek()
	if err != nil {
		return r.end(err, false)
	}
	r.i++
	switch c {
	case '[':
		return nil
	case '{':
		r.object = true
		return r.member(true)
	}
	r.i--
	return r.bad("it begins with %s, and a trace with [ or {", shown([]byte{c}))
}

// member reads the members of the outer object up to the array.
func (r *Reader) member(first bool) error {
	for ; ; first = false {
		c, err := r.peek()
		if err == nil && !first && c == ',' {
			r.i++
			c, err = r.peek()
		} else if err == nil && c == '}' {
			r.i++
			if !r.array {
				return r.bad("it has no traceEvents")
			}
			return r.last()
		} else if err == nil && !first {
			return r.bad("%s stands where , or } does", shown([]byte{c}))
		}
		if err != nil {
			return r.end(err, false)
		}
		if c != '"' {
			return r.bad("%s stands where a name does", shown([]byte{c}))
		}
		text, err := r.frame()
		if err != nil {
			return r.end(err, false)
		}
		text = bytes.Clone(text)
		o := object{b: text}
		if _, err := o.text(); err != nil {
			return r.bad("%w", err)
		}
		if c, err = r.peek(); err != nil {
			return r.end(err, false)
		}
		if c != ':' {
			return r.bad("%s stands where : does", shown([]byte{c}))
		}
		r.i++
		if c, err = r.peek(); err != nil {
			return r.end(err, false)
		}
		if c == '[' && string(unquoted(text)) == "traceEvents" {
			r.i++
			if r.array {
				return r.bad("it has traceEvents twice")
			}
			r.array = true
			return nil
		}
		value, err := r.frame()
		if err != nil {
			return r.end(err, false)
		}
		if _, err := checked(value, false); err != nil {
			return r.bad("%w", err)
		}
	}
}

// tail reads what follows the array of events: the other members of its object, or nothing.
func (r *Reader) tail() error {
	if !r.object {
		return r.last()
	}
	return r.member(false)
}

// last returns io.EOF if the file ends here, else an error.
func (r *Reader) last() error {
	c, err := r.peek()
	if err == nil {
		return r.bad("%s follows the end of the trace", shown([]byte{c}))
	}
	if !errors.Is(err, io.EOF) {
		return r.end(err, false)
	}
	return io.EOF
}

// end returns the result of Next after err, which is io.EOF if the file has been truncated.
func (r *Reader) end(err error, inside bool) error {
	if errors.Is(err, io.EOF) {
		r.cut = &Cut{Line: r.line, Inside: inside, Events: r.events}
		return io.EOF
	}
	if errors.Is(err, ErrFormat) {
		return err
	}
	return &shmerr.Error{Op: "read", Object: r.name, Cause: err, Remedy: "look whether it is a file, and whether the disk is well"}
}

// bad returns the error for a file that is not a trace, at the present line.
func (r *Reader) bad(format string, args ...any) error { return r.badAt(r.line, format, args...) }

// badAt returns the error for a file that is not a trace, at a line.
func (r *Reader) badAt(line int, format string, args ...any) error {
	return &shmerr.Error{
		Op: "read", Object: fmt.Sprintf("%s line %d", r.name, line),
		Cause:  shmerr.Causef(ErrFormat, format, args...),
		Remedy: "name files that SHMEM_TRACE, SHMEM_PRELOAD=trace or shmem-trace merge has written",
	}
}

// fill moves the unread bytes, from position from on, to the front of the buffer and reads more
// bytes after them.
func (r *Reader) fill(from int) error {
	if r.ended {
		return io.EOF
	}
	if from > 0 {
		copy(r.buf, r.buf[from:r.n])
		r.i, r.n = r.i-from, r.n-from
	}
	if r.n == len(r.buf) {
		if len(r.buf) >= longest {
			return r.bad("an event is longer than %d bytes", longest)
		}
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.n:])
		r.n += n
		switch {
		case errors.Is(err, io.EOF):
			r.ended = true
			if n == 0 {
				return io.EOF
			}
			return nil
		case err != nil:
			return err
		case n > 0:
			return nil
		}
	}
	return io.ErrNoProgress
}

// peek returns the next byte that is not white space, and leaves it unread.
func (r *Reader) peek() (byte, error) {
	for {
		for r.i < r.n {
			switch c := r.buf[r.i]; c {
			case '\n':
				r.line++
			case ' ', '\t', '\r':
			default:
				return c, nil
			}
			r.i++
		}
		if err := r.fill(r.i); err != nil {
			return 0, err
		}
	}
}

// frame returns the value that begins here, up to its end, without a check. It is valid until more
// is read.
func (r *Reader) frame() ([]byte, error) {
	begin, depth, quoted := r.i, 0, false
	for {
		buf, i := r.buf[:r.n], r.i
	scan:
		for ; i < len(buf); i++ {
			switch c := buf[i]; c {
			case '"':
				quoted = !quoted
				if !quoted && depth == 0 {
					r.i = i + 1
					return buf[begin:r.i], nil
				}
			case '\\':
				if quoted {
					if i+1 >= len(buf) {
						break scan
					}
					i++
				}
			case '\n':
				r.line++
			case '{', '[':
				if !quoted {
					depth++
				}
			case '}', ']':
				if quoted {
					continue
				}
				if depth == 0 { // a number ends where the value around it ends
					r.i = i
					return buf[begin:i], nil
				}
				if depth--; depth == 0 {
					r.i = i + 1
					return buf[begin:r.i], nil
				}
			case ',', ' ', '\t', '\r':
				if !quoted && depth == 0 {
					r.i = i
					return buf[begin:i], nil
				}
			}
		}
		r.i = i
		if err := r.fill(begin); err != nil {
			return nil, err
		}
		begin = 0
	}
}

// text returns the content of a JSON string; equal names share one string in memory.
func (r *Reader) text(t []byte) string {
	t = unquoted(t)
	if s, ok := r.names[string(t)]; ok {
		return s
	}
	s := string(t)
	if len(r.names) < maxNames {
		r.names[s] = s
	}
	return s
}
