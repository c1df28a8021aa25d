// Package trace writes the actions of a PE's proxies, rings and NICs, with their times, as a file
// that Perfetto and Chrome's trace viewer read: an array of JSON objects, one a line.
//
// A process of the trace is a PE. Each endpoint is a thread of it, with the actions under the
// endpoint's lock, of any thread: batches taken from a ring, posts, polls that found something. A
// second one has the sleeps of its proxy. Operations of the NIC, from post to completion, are
// asynchronous events of the PE.
//
// Around is a provider that records the operations that go through it. A job without a trace has no
// such provider, so that it costs nothing; with one, no operation goes past it in C, so that a
// traced job is slower.
//
// Everything may be called from any thread. A nil *Track records nothing.
package trace

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// round is the distance of the moments from which time is counted. Readers keep it in
// floating-point numbers of 64 bits, as microseconds: from 1970 on they would be exact to a quarter
// of one, and events that touch would overlap. The hosts of a job count from the same moment, but
// for a job that begins around one.
const round = 30 * 24 * time.Hour

// most bounds the events of a file: some 500 MB.
const most = 1 << 22

// File is the trace of one PE.
type File struct {
	name  string
	mu    sync.Mutex
	file  *os.File
	out   *bufio.Writer
	pe    libshmem.PE
	begun time.Time
	wall  int64 // of begun, in nanoseconds from the last round moment
	count int
	limit int
	buf   []byte
	err   error // the first
}

// Name is that of a PE's file: the number comes before the extension.
func Name(name string, pe libshmem.PE) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + strconv.Itoa(int(pe)) + ext
}

// Create begins the file of a PE. host is for people.
func Create(name string, pe libshmem.PE, host string) (*File, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, &shmerr.Error{
			Op: "create", Object: fmt.Sprintf("SHMEM_TRACE %q", name),
			Cause: shmerr.Causef(shmerr.ErrSetting, "%w", err), Remedy: "name a file in a directory that exists and can be written, or unset it",
		}
	}
	now := time.Now()
	t := &File{name: name, file: f, out: bufio.NewWriterSize(f, 1<<16), pe: pe, begun: now, wall: now.UnixNano() % int64(round), limit: most}
	_, t.err = t.out.WriteString("[\n")
	t.label("process_name", 0, fmt.Sprintf("PE %d on %s", pe, host))
	return t, nil
}

// Close ends the file, and reports whether all of it could be written. It is called when no thread
// records any more.
func (t *File) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		_, t.err = t.out.WriteString("\n]\n")
	}
	if err := t.out.Flush(); t.err == nil {
		t.err = err
	}
	if err := t.file.Close(); t.err == nil {
		t.err = err
	}
	if t.err != nil {
		return &shmerr.Error{Op: "write", Object: "trace " + t.name, Cause: t.err, Remedy: "make room, or unset SHMEM_TRACE"}
	}
	return nil
}

// arg is one fact of an event.
type arg struct {
	name  string
	value int64
}

// event is one line of the file. ts and dur are microseconds.
type event struct {
	phase   byte // X: from at for dur; i: at once; b and e: begin and end of the object that id names; M: a name
	name    string
	tid     int
	at      time.Time
	dur     time.Duration
	id      uint64
	comment string // "": none
	args    [3]arg // those with a name
}

// write adds an event, unless the file is full.
func (t *File) write(e *event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == t.limit {
		e = &event{phase: 'i', name: "the trace ends here: the file is full", tid: e.tid, at: e.at}
	}
	if t.count > t.limit || t.err != nil {
		return
	}
	b := t.buf[:0]
	if t.count++; t.count > 1 {
		b = append(b, ",\n"...)
	}
	b = append(b, `{"ph":"`...)
	b = append(b, e.phase)
	b = append(b, `","name":`...)
	b = strconv.AppendQuote(b, e.name)
	b = append(b, `,"pid":`...)
	b = strconv.AppendInt(b, int64(t.pe), 10)
	b = append(b, `,"tid":`...)
	b = strconv.AppendInt(b, int64(e.tid), 10)
	if e.phase != 'M' {
		b = append(b, `,"ts":`...)
		// The wall clock is read once, so that events of one PE keep their order, and PEs of
		// one host have one time.
		b = micros(b, t.wall+max(e.at.Sub(t.begun).Nanoseconds(), 0))
	}
	switch e.phase {
	case 'X':
		b = append(b, `,"dur":`...)
		b = micros(b, e.dur.Nanoseconds())
	case 'b', 'e':
		b = append(b, `,"cat":"NIC","id":"`...)
		b = strconv.AppendInt(b, int64(t.pe), 10)
		b = append(b, '.')
		b = strconv.AppendUint(b, e.id, 10)
		b = append(b, '"')
	case 'i':
		b = append(b, `,"s":"t"`...)
	}
	b = append(b, `,"args":{`...)
	first := true
	for _, a := range e.args {
		if a.name == "" {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = strconv.AppendQuote(b, a.name)
		b = append(b, ':')
		b = strconv.AppendInt(b, a.value, 10)
	}
	if e.comment != "" {
		if !first {
			b = append(b, ',')
		}
		b = append(b, `"name":`...)
		b = strconv.AppendQuote(b, e.comment)
	}
	b = append(b, "}}"...)
	t.buf = b
	_, t.err = t.out.Write(b)
}

// micros writes nanoseconds as microseconds with three decimals.
func micros(b []byte, n int64) []byte {
	n = max(n, 0)
	b = strconv.AppendInt(b, n/1000, 10)
	rest := n % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

func (t *File) label(what string, tid int, name string) {
	t.write(&event{phase: 'M', name: what, tid: tid, comment: name})
}

// Track is the record of one endpoint.
type Track struct {
	file *File
	tid  int
}

// Track is the n-th endpoint's, from 0; nil where nothing is traced.
func (t *File) Track(n int) *Track {
	if t == nil {
		return nil
	}
	k := &Track{t, 2*n + 1}
	t.label("thread_name", k.tid, fmt.Sprintf("endpoint %d", n))
	t.label("thread_name", k.tid+1, fmt.Sprintf("proxy %d asleep", n))
	return k
}

// Now is the time where something is traced; it is not looked for else.
func (k *Track) Now() time.Time {
	if k == nil {
		return time.Time{}
	}
	return time.Now()
}

// Batch records operations that were taken from a ring since begin; left is how many of the decoded
// ones found no room.
func (k *Track) Batch(begin time.Time, ring, operations, left int) {
	if k != nil {
		k.span("ring", begin, arg{"ring", int64(ring)}, arg{"operations", int64(operations)}, arg{"left", int64(left)})
	}
}

func (k *Track) span(name string, begin time.Time, args ...arg) {
	e := event{phase: 'X', name: name, tid: k.tid, at: begin, dur: time.Since(begin)}
	copy(e.args[:], args)
	k.file.write(&e)
}
