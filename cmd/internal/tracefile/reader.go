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
	i, n   int   // how much of buf is read, and how much is filled
	ended  bool  // src has no more bytes
	line   int   // of the next byte, from 1
	events int64 // so far
	begun  bool  // readStart was called
	object bool  // the array is a member of an object
	array  bool  // the array has begun
	done   error // what each further Next returns; nil: there may be more events
	cut    *Cut
	heads  map[int]*Head
	names  map[string]string // the strings that text has returned, in order to share them
}

// Open opens a trace file for reading. The caller has to close it.
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

// next reads the next event of the array into e, with the comma before it. It returns io.EOF at the
// end of the array, and where the file was cut.
func (r *Reader) next(e *Event) error {
	if !r.begun {
		if err := r.readStart(); err != nil {
			return err
		}
	}
	c, err := r.peek()
	if err != nil {
		return r.endOrError(err, false)
	}
	if c == ']' {
		r.i++
		return r.readTail()
	}
	if r.events > 0 {
		if c != ',' {
			return r.formatError("%s is in the place of , or ]", quoteStart([]byte{c}))
		}
		r.i++
		if c, err = r.peek(); err != nil {
			return r.endOrError(err, false)
		}
	}
	if c != '{' {
		return r.formatError("%s is in the place of an event", quoteStart([]byte{c}))
	}
	line := r.line
	value, err := r.rawValue()
	if err != nil {
		return r.endOrError(err, true)
	}
	if err := r.decode(value, e); err != nil {
		return r.formatErrorAt(line, "%w", err)
	}
	e.Line = line
	r.events++
	return nil
}

// readStart reads the file up to the first event: the bracket of the array, or the beginning of an
// object that has the array as its member traceEvents.
func (r *Reader) readStart() error {
	r.begun = true
	c, err := r.peek()
	if err != nil {
		return r.endOrError(err, false)
	}
	r.i++
	switch c {
	case '[':
		return nil
	case '{':
		r.object = true
		return r.readMembers(true)
	}
	r.i--
	return r.formatError("it begins with %s, but a trace begins with [ or {", quoteStart([]byte{c}))
}

// readMembers skips the members of the outer object up to its array traceEvents, or, after the
// array, up to the end of the object. first: no member was read yet, so no comma comes before the
// next one.
func (r *Reader) readMembers(first bool) error {
	for ; ; first = false {
		c, err := r.peek()
		if err == nil && !first && c == ',' {
			r.i++
			c, err = r.peek()
		} else if err == nil && c == '}' {
			r.i++
			if !r.array {
				return r.formatError("it has no traceEvents")
			}
			return r.expectEOF()
		} else if err == nil && !first {
			return r.formatError("%s is in the place of , or }", quoteStart([]byte{c}))
		}
		if err != nil {
			return r.endOrError(err, false)
		}
		if c != '"' {
			return r.formatError("%s is in the place of a name", quoteStart([]byte{c}))
		}
		text, err := r.rawValue()
		if err != nil {
			return r.endOrError(err, false)
		}
		text = bytes.Clone(text)
		o := object{b: text}
		if _, err := o.text(); err != nil {
			return r.formatError("%w", err)
		}
		if c, err = r.peek(); err != nil {
			return r.endOrError(err, false)
		}
		if c != ':' {
			return r.formatError("%s is in the place of :", quoteStart([]byte{c}))
		}
		r.i++
		if c, err = r.peek(); err != nil {
			return r.endOrError(err, false)
		}
		if c == '[' && string(unquoted(text)) == "traceEvents" {
			r.i++
			if r.array {
				return r.formatError("it has traceEvents twice")
			}
			r.array = true
			return nil
		}
		value, err := r.rawValue()
		if err != nil {
			return r.endOrError(err, false)
		}
		if _, err := checkJSON(value, false); err != nil { // false: it may have other bytes than digits
			return r.formatError("%w", err)
		}
	}
}

// readTail reads what follows the array of events: the other members of the outer object, or
// nothing.
func (r *Reader) readTail() error {
	if !r.object {
		return r.expectEOF()
	}
	return r.readMembers(false)
}

// expectEOF returns io.EOF if the file ends here, as it should, else an error.
func (r *Reader) expectEOF() error {
	c, err := r.peek()
	if err == nil {
		return r.formatError("%s follows the end of the trace", quoteStart([]byte{c}))
	}
	if !errors.Is(err, io.EOF) {
		return r.endOrError(err, false)
	}
	return io.EOF
}

// endOrError returns what Next returns after err. If the file has ended (io.EOF) within the trace,
// that is no error: a program that was killed leaves such a file, and Cut then says where. inside:
// the file ends within an event.
func (r *Reader) endOrError(err error, inside bool) error {
	if errors.Is(err, io.EOF) {
		r.cut = &Cut{Line: r.line, Inside: inside, Events: r.events}
		return io.EOF
	}
	if errors.Is(err, ErrFormat) {
		return err
	}
	return &shmerr.Error{Op: "read", Object: r.name, Cause: err, Remedy: "check that it is a file, and that the disk works"}
}

// formatError returns the error for a file that is not a trace, at the present line.
func (r *Reader) formatError(format string, args ...any) error {
	return r.formatErrorAt(r.line, format, args...)
}

// formatErrorAt returns the error for a file that is not a trace, at a line. The format describes
// what is wrong there.
func (r *Reader) formatErrorAt(line int, format string, args ...any) error {
	return &shmerr.Error{
		Op: "read", Object: fmt.Sprintf("%s line %d", r.name, line),
		Cause:  shmerr.Causef(ErrFormat, format, args...),
		Remedy: "name files that SHMEM_TRACE, SHMEM_PRELOAD=trace or shmem-trace merge has written",
	}
}

// readMore moves the unread bytes, from position `from` on, to the front of the buffer and reads
// more bytes after them. The buffer grows if one event fills it.
func (r *Reader) readMore(from int) error {
	if r.ended {
		return io.EOF
	}
	if from > 0 {
		copy(r.buf, r.buf[from:r.n])
		r.i, r.n = r.i-from, r.n-from
	}
	if r.n == len(r.buf) {
		if len(r.buf) >= longest {
			return r.formatError("an event is longer than %d bytes", longest)
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
		if err := r.readMore(r.i); err != nil {
			return 0, err
		}
	}
}

// rawValue returns the text of the JSON value that begins here, from its first to its last byte. It
// only counts brackets and quotes; whether the text is valid is not checked. The result is valid
// until more is read.
func (r *Reader) rawValue() ([]byte, error) {
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
						break scan // the escaped byte was not read yet
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
		if err := r.readMore(begin); err != nil {
			return nil, err
		}
		begin = 0 // readMore has moved the value to the front of the buffer
	}
}

// text returns the content of a JSON string. Equal strings share one copy in memory, because a
// trace has few names and many events.
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
