package launch

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxLine bounds the part of a line that is held until its end comes.
const maxLine = 1 << 20

// promptDelay is how long an unfinished line stays back from a terminal, where
// it may be a prompt. Pipes and files get whole lines only.
const promptDelay = 100 * time.Millisecond

// output writes lines of many PEs, and shmemrun's own, without tearing them.
type output struct {
	tag  bool
	wg   sync.WaitGroup
	errs sink

	mu   sync.Mutex
	open *stream // whose unfinished line stands on the terminal
}

// sink is where lines go.
type sink struct {
	file     *os.File
	terminal bool
}

func newSink(f *os.File) sink {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return sink{file: f, terminal: err == nil}
}

// stream is one output of one PE on its way.
type stream struct {
	out    *output
	to     sink
	prefix string
	held   []byte // not yet written
	begun  bool   // the start of the line in held has been written
	prompt *time.Timer
}

// forward copies what a PE writes until it ends, or until nobody reads to: then
// it closes from, so that the PE meets the broken pipe itself.
func (o *output) forward(pe int, from *os.File, to sink) {
	s := &stream{out: o, to: to}
	if o.tag {
		s.prefix = "[" + strconv.Itoa(pe) + "] "
	}
	o.wg.Go(func() {
		defer from.Close()
		buf := make([]byte, 16<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 && s.add(buf[:n]) != nil {
				return
			}
			if err != nil {
				s.finish()
				return
			}
		}
	})
}

// drain waits until every PE's output is written, but no longer than limit:
// somebody else may have got hold of a PE's pipe.
func (o *output) drain(limit time.Duration) {
	done := make(chan struct{})
	go func() { o.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// say writes a line of shmemrun's own.
func (o *output) say(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := []byte("shmemrun: " + line + "\n")
	if o.open != nil {
		o.open = nil
		b = append([]byte("\n"), b...)
	}
	_, _ = o.errs.file.Write(b) // there is nobody else to tell
}

func (s *stream) add(b []byte) error {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if s.prompt != nil {
		s.prompt.Stop()
	}
	s.held = append(s.held, b...)
	end := lineEnd(s.held)
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

// lineEnd is the length of the whole lines in b. A carriage return ends a line
// too, so that progress bars move; one at the very end may be half of a CR LF.
func lineEnd(b []byte) int {
	end := bytes.LastIndexByte(b, '\n') + 1
	if n := len(b) - 1; n > end {
		end = max(end, bytes.LastIndexByte(b[:n], '\r')+1)
	}
	return end
}

func (s *stream) showPrompt() {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if len(s.held) > 0 {
		_ = s.writeLocked(len(s.held)) // the reader meets the error at its next line
	}
}

// finish writes a last line that has no end.
func (s *stream) finish() {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if s.prompt != nil {
		s.prompt.Stop()
	}
	if len(s.held) == 0 {
		return
	}
	if s.prefix != "" {
		s.held = append(s.held, '\n')
	}
	_ = s.writeLocked(len(s.held))
}

// writeLocked writes the first n bytes of what is held.
func (s *stream) writeLocked(n int) error {
	b := s.held[:n]
	var w []byte
	cut := s.to.terminal && s.out.open != nil && s.out.open != s
	if cut {
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
	case cut:
		w = append(w, b...)
	default:
		w = b
	}
	last := s.held[n-1]
	if s.to.terminal {
		s.out.open = nil
		if last != '\n' && last != '\r' {
			s.out.open = s
		}
	}
	_, err := s.to.file.Write(w)
	s.held = append(s.held[:0], s.held[n:]...)
	return err
}
