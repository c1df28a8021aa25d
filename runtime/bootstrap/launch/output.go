package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
)

// maxLine caps the bytes of an unfinished line that are held back.
const maxLine = 256 << 10

// promptDelay is how long an unfinished line is held back from a terminal, where it
// may be a prompt. Pipes and files get only whole lines.
const promptDelay = 100 * time.Millisecond

// output writes lines of many PEs, and of shmemrun, so that no line is mixed with another.
type output struct {
	tag            bool
	out            sink
	errs           sink
	readers        sync.WaitGroup
	remarks        remarks
	remarksWritten chan struct{} // closed when all remarks of shmemrun are written
	lost           atomic.Bool   // something could not be written, and not because its reader has gone
}

// sink is one of shmemrun's outputs, to which lines go.
type sink struct {
	file     *os.File
	terminal bool
	lock     *writeLock
	reported *sync.Once // for the report that it cannot be written
}

// full reports whether a write would wait for the reader.
func (s *sink) full() bool {
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(s.file.Fd()), Events: unix.POLLOUT}}, 0)
	return err == nil && ready == 0
}

// writeLock serialises writes to an output. Standard output and error share one if both are
// terminals; otherwise each has its own, so that a reader that has stopped delays only the output
// that it reads.
type writeLock struct {
	mu   sync.Mutex
	open *outputPipe // the pipe whose unfinished line is the last on the terminal
}

// outputPipe is the standard output or error of one PE, with the bytes that are not written yet.
type outputPipe struct {
	to     sink
	prefix string
	held   []byte // bytes of an unfinished line
	begun  bool   // the start of the line in held has been written
	prompt *time.Timer
	busy   atomic.Bool // the bytes read last may not be written yet
}

// newOutput makes the output of a job, and starts the goroutine that writes remarks, which are
// shmemrun's own lines. If stdout and stderr are terminals, one lock keeps their lines whole.
func newOutput(tag bool, stdout, stderr *os.File) *output {
	o := &output{
		tag:            tag,
		out:            sink{stdout, isTerminal(stdout), &writeLock{}, &sync.Once{}},
		errs:           sink{stderr, isTerminal(stderr), &writeLock{}, &sync.Once{}},
		remarksWritten: make(chan struct{}),
	}
	o.remarks.more.L = &o.remarks.mu
	if o.out.terminal && o.errs.terminal {
		o.errs.lock = o.out.lock
	}
	go o.write()
	return o
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// forward copies a PE's output from a pipe to a sink until the output ends, or until the reader of
// the sink has gone: then it closes from, so that the PE itself gets SIGPIPE.
func (o *output) forward(pe libshmem.PE, from *os.File, to sink) *outputPipe {
	s := &outputPipe{to: to}
	if o.tag {
		s.prefix = "[" + strconv.Itoa(int(pe)) + "] "
	}
	o.readers.Go(func() {
		defer from.Close()
		defer s.busy.Store(false)
		buf := make([]byte, 16<<10)
		for {
			n, err := s.read(from, buf)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				n, err = readNow(from, buf)
			}
			if n > 0 {
				if werr := s.add(buf[:n]); werr != nil {
					o.handleWriteError(&to, werr)
					return
				}
			}
			if err != nil {
				o.handleWriteError(&to, s.finish())
				return
			}
		}
	})
	return s
}

// read reads the bytes that are in the pipe, or waits for some. catchUp relies on busy being set
// before bytes leave the pipe.
func (s *outputPipe) read(from *os.File, buf []byte) (n int, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return 0, err
	}
	if rerr := raw.Read(func(fd uintptr) bool {
		s.busy.Store(true)
		for n, err = unix.Read(int(fd), buf); err == unix.EINTR; {
			n, err = unix.Read(int(fd), buf)
		}
		if err == unix.EAGAIN {
			s.busy.Store(false)
			return false
		}
		return true
	}); rerr != nil {
		return 0, rerr
	}
	if n <= 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

// catchUp waits until a PE's output so far has been passed on, but no longer than limit: a reader
// may have stopped.
func (s *outputPipe) catchUp(from *os.File, limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		// In this order: bytes that are not in the pipe any more were read while busy was set.
		if unread(from) == 0 && !s.busy.Load() {
			return
		}
	}
}

// unread returns how many bytes are in a pipe; 0 if it is closed.
func unread(from *os.File) (n int) {
	raw, err := from.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n
}

// handleWriteError handles the error of a write to a sink. That the reader has gone is not a
// failure; any other error, such as a full disk, is reported once.
func (o *output) handleWriteError(to *sink, err error) {
	if err == nil || errors.Is(err, unix.EPIPE) {
		return
	}
	o.lost.Store(true)
	to.reported.Do(func() {
		o.say(fmt.Sprintf("%v (the PEs' output there is lost: make room, or send it elsewhere)", err))
	})
}

// readNow reads the bytes that are in a pipe whose read deadline has passed; io.EOF if there are
// none. It reads by one system call, which does not wait.
func readNow(from *os.File, buf []byte) (n int, err error) {
	if err := from.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	raw, err := from.SyscallConn()
	if err != nil {
		return 0, err
	}
	if rerr := raw.Read(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), buf)
		return true
	}); rerr != nil {
		return 0, rerr
	}
	if n <= 0 {
		return 0, io.EOF
	}
	return n, from.SetReadDeadline(time.Now())
}

// finish writes the remaining output of PEs that have all ended, and shmemrun's own last lines. The
// reader may be slow, so it waits. If timeout is not 0, it waits no longer than that for a reader
// that does not read at all, and not beyond a signal.
func (o *output) finish(pipes []*os.File, timeout time.Duration, sigs <-chan os.Signal) {
	for _, p := range pipes {
		// A process outside of the job may hold a PE's pipe: do not wait for its end, but read all
		// that is in it.
		_ = p.SetReadDeadline(time.Now().Add(drainLimit))
	}
	done := make(chan struct{})
	go func() {
		o.readers.Wait()
		o.remarks.end()
		<-o.remarksWritten
		close(done)
	}()
	var late <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	for {
		select {
		case <-done:
			return
		case <-late:
			if o.out.full() || o.errs.full() {
				return
			}
			late = time.After(timeout) // this machine is slow, and not the reader
		case s := <-sigs:
			if isEnding(s) {
				return
			}
		}
	}
}

// add appends bytes of a PE, and writes the lines that are complete now. A line longer than maxLine
// is written in pieces. On a terminal, a line without an end is written after promptDelay: it may
// be a prompt.
func (s *outputPipe) add(b []byte) error {
	s.to.lock.mu.Lock()
	defer s.to.lock.mu.Unlock()
	if s.prompt != nil {
		s.prompt.Stop()
	}
	old := len(s.held)
	s.held = append(s.held, b...)
	end := lineEnd(s.held, old)
	if end == 0 && len(s.held) > maxLine {
		end = len(s.held)
	}
	if end > 0 {
		if err := s.writeLocked(end); err != nil {
			return err
		}
	}
	if len(s.held) > 0 && s.to.terminal {
		s.prompt = time.AfterFunc(promptDelay, s.showPrompt)
	}
	return nil
}

// lineEnd returns the length of the whole lines in b, whose first old bytes hold no end of a line.
// A carriage return also ends a line, so that progress bars move, unless it is the last byte, which
// may be half of a CR LF.
func lineEnd(b []byte, old int) int {
	from, end := max(old-1, 0), 0
	if at := bytes.LastIndexByte(b[from:], '\n'); at >= 0 {
		end = from + at + 1
		from = end
	}
	if last := len(b) - 1; last > from {
		if at := bytes.LastIndexByte(b[from:last], '\r'); at >= 0 {
			end = from + at + 1
		}
	}
	return end
}

// showPrompt writes an unfinished line to the terminal.
func (s *outputPipe) showPrompt() {
	s.to.lock.mu.Lock()
	defer s.to.lock.mu.Unlock()
	if len(s.held) > 0 {
		_ = s.writeLocked(len(s.held)) // forward meets the error at the next line
	}
}

// finish writes a last line that has no newline, with a newline if lines have the PE's prefix.
func (s *outputPipe) finish() error {
	s.to.lock.mu.Lock()
	defer s.to.lock.mu.Unlock()
	if s.prompt != nil {
		s.prompt.Stop()
	}
	if len(s.held) == 0 {
		return nil
	}
	if s.prefix != "" {
		s.held = append(s.held, '\n')
	}
	return s.writeLocked(len(s.held))
}

// writeLocked writes the first n held bytes, with the PE's prefix at the start of each line. On a
// terminal it first ends an unfinished line of another PE.
func (s *outputPipe) writeLocked(n int) error {
	b := s.held[:n]
	var w []byte
	afterOther := s.to.terminal && s.to.lock.open != nil && s.to.lock.open != s
	if afterOther {
		w = append(w, '\n')
	}
	switch {
	case s.prefix != "":
		for len(b) > 0 {
			if !s.begun {
				w = append(w, s.prefix...)
			}
			end := bytes.IndexAny(b, "\n\r") + 1
			for end > 0 && end < len(b) && b[end-1] == '\r' && b[end] == '\n' {
				end++
			}
			s.begun = end == 0
			if end == 0 {
				end = len(b)
			}
			w = append(w, b[:end]...)
			b = b[end:]
		}
	case afterOther:
		w = append(w, b...)
	default:
		w = b
	}
	last := s.held[n-1]
	if s.to.terminal {
		s.to.lock.open = nil
		if last != '\n' && last != '\r' {
			s.to.lock.open = s
		}
	}
	_, err := s.to.file.Write(w)
	s.held = append(s.held[:0], s.held[n:]...)
	return err
}
