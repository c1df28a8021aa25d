// Package trace writes the actions of a PE's proxies, rings and NICs, with their times, to a file
// that Perfetto and Chrome's trace viewer read: an array of JSON objects, one a line.
//
// In the viewer each PE is a process, and each endpoint is a thread of that process. The thread's
// row shows what any thread of the PE did while it held the endpoint's lock: batches (the
// operations that the proxy has taken from a ring at once), posts, polls that found something, and
// calls of the GPU's driver for copies and stores. A second row shows when the endpoint's proxy
// slept. Operations of the NIC, from post to completion, are asynchronous events of the PE.
//
// Around adds a provider that records the operations that pass through it. Without a trace there is
// no such provider, and no cost. With a trace, the C code does not post to the NIC itself, so a
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

// period is the time after which the times in a trace begin again at 0. Readers keep a time in a
// floating-point number of 64 bits, in microseconds: counted from 1970 a time would be exact only
// to a quarter of a microsecond, and events that follow each other would seem to overlap. The hosts
// of a job count from the same moment, unless the job starts as a period ends.
const period = 30 * 24 * time.Hour

// maxEvents caps the events of a file: some 500 MB.
const maxEvents = 1 << 22

// File is the trace of one PE.
type File struct {
	name  string
	mu    sync.Mutex
	file  *os.File
	out   *bufio.Writer
	pe    libshmem.PE
	begun time.Time
	wall  int64  // time of begun, in nanoseconds since the present period began
	count int    // number of events in the file
	limit int    // the most events
	buf   []byte // memory for the text of one event, used again
	err   error  // the first error
}

// Name returns the name of a PE's file: the PE's number goes before the extension.
func Name(name string, pe libshmem.PE) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + strconv.Itoa(int(pe)) + ext
}

// Create creates the trace file of a PE. host names its host in the viewer.
func Create(name string, pe libshmem.PE, host string) (*File, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, &shmerr.Error{
			Op: "create", Object: fmt.Sprintf("SHMEM_TRACE %q", name),
			Cause: shmerr.Causef(shmerr.ErrSetting, "%w", err), Remedy: "name a file in a directory that exists and can be written, or unset it",
		}
	}
	now := time.Now()
	t := &File{name: name, file: f, out: bufio.NewWriterSize(f, 1<<16), pe: pe, begun: now, wall: now.UnixNano() % int64(period), limit: maxEvents}
	_, t.err = t.out.WriteString("[\n")
	t.label("process_name", 0, fmt.Sprintf("PE %d on %s", pe, host))
	return t, nil
}

// Close completes the file, and returns an error if some of it could not be written. No thread may
// record any more.
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

// arg is an argument of an event, which the viewer shows: a name and a number.
type arg struct {
	name  string
	value int64
}

// event is one line of the file.
type event struct {
	phase   byte // X: lasts from at for dur; i: a moment; b, e: begin and end of the operation id; M: a label
	name    string
	tid     int
	at      time.Time
	dur     time.Duration
	id      uint64
	comment string // text of a label; "": none
	args    [3]arg // entries without a name are unused
}

// write writes an event to the file, unless the file is full. The last event says that it is full.
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

// micros appends n nanoseconds to b as microseconds with three decimals.
func micros(b []byte, n int64) []byte {
	n = max(n, 0)
	b = strconv.AppendInt(b, n/1000, 10)
	rest := n % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// label gives a process or a thread of the trace the name that the viewer shows. what is
// "process_name" or "thread_name".
func (t *File) label(what string, tid int, name string) {
	t.write(&event{phase: 'M', name: what, tid: tid, comment: name})
}

// Track records the actions of one endpoint in the trace of its PE.
type Track struct {
	file *File
	tid  int
}

// Track returns the Track of the n-th endpoint, counted from 0; nil without a trace.
func (t *File) Track(n int) *Track {
	if t == nil {
		return nil
	}
	k := &Track{t, 2*n + 1}
	t.label("thread_name", k.tid, fmt.Sprintf("endpoint %d", n))
	t.label("thread_name", k.tid+1, fmt.Sprintf("proxy %d asleep", n))
	return k
}

// Now returns the time. Without a trace it returns the zero Time and reads no clock.
func (k *Track) Now() time.Time {
	if k == nil {
		return time.Time{}
	}
	return time.Now()
}

// Batch records that the proxy has taken operations from the ring of this number since begin; left
// is how many of them stay in the ring, because the provider's queue or the target's credit was
// used up.
func (k *Track) Batch(begin time.Time, ring, operations, left int) {
	if k != nil {
		k.span("ring", begin, arg{"ring", int64(ring)}, arg{"operations", int64(operations)}, arg{"left", int64(left)})
	}
}

// Copies records that the proxy has passed copies of so many bytes to the driver since begin, for
// the stream of a direction. The GPU makes the copies later.
func (k *Track) Copies(begin time.Time, direction string, copies int, bytes uint64) {
	if k != nil {
		k.span(direction, begin, arg{"copies", int64(copies)}, arg{"bytes", int64(bytes)})
	}
}

// Stores records that the proxy has passed stores of words for a stream to the driver since begin.
func (k *Track) Stores(begin time.Time, stores int) {
	if k != nil {
		k.span("stores", begin, arg{"stores", int64(stores)})
	}
}

// span records an action that lasted from begin until now.
func (k *Track) span(name string, begin time.Time, args ...arg) {
	e := event{phase: 'X', name: name, tid: k.tid, at: begin, dur: time.Since(begin)}
	copy(e.args[:], args)
	k.file.write(&e)
}
