package launch

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/tests/need"
)

func TestLineEnd(t *testing.T) {
	for in, want := range map[string]int{
		"":          0,
		"part":      0,
		"a\n":       2,
		"a\nb":      2,
		"a\nb\nc":   4,
		"10%\r20%":  4,
		"10%\r":     0, // perhaps half of a CR LF
		"a\r\n":     3,
		"a\nb\r":    2,
		"\r10%\r":   1,
		"x\r\ny\rz": 5,
	} {
		if got := lineEnd([]byte(in), 0); got != want {
			t.Errorf("lineEnd(%q, 0) = %d, want %d", in, got, want)
		}
	}
	for in, want := range map[string]int{
		"ab|c":      0,
		"ab|c\nd":   4,
		"ab\r|\nd":  4,
		"ab\r|d":    3,
		"ab\r|":     0,
		"ab\r|d\re": 5,
		"ab|\n":     3,
	} {
		old := strings.IndexByte(in, '|')
		b := []byte(strings.Replace(in, "|", "", 1))
		if got := lineEnd(b, old); got != want {
			t.Errorf("lineEnd(%q, %d) = %d, want %d", b, old, got, want)
		}
	}
}

// console returns an output whose sink is a file that the test can read.
func console(t *testing.T, tag, terminal bool) (*output, sink, func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	o := newOutput(tag, f, f)
	o.out.terminal, o.errs.terminal, o.errs.lock = terminal, terminal, o.out.lock
	return o, o.out, func() string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

// pe returns the file that a PE would write to.
func pe(t *testing.T, o *output, n libshmem.PE, to sink) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o.forward(n, r, to)
	return w
}

func write(t *testing.T, w *os.File, s string) {
	t.Helper()
	if _, err := w.WriteString(s); err != nil {
		t.Error(err)
	}
}

func TestLinesStayWhole(t *testing.T) {
	for _, tag := range []bool{false, true} {
		o, to, text := console(t, tag, false)
		const pes, lines = 4, 150
		var wg sync.WaitGroup
		for n := range libshmem.PE(pes) {
			w := pe(t, o, n, to)
			wg.Go(func() {
				defer w.Close()
				for i := range lines {
					line := fmt.Sprintf("PE %d line %d %s\n", n, i, strings.Repeat("x", i%97*20))
					cut := (i * 31) % len(line)
					write(t, w, line[:cut])
					write(t, w, line[cut:])
				}
			})
		}
		wg.Wait()
		o.readers.Wait()
		next := make([]int, pes)
		for line := range strings.Lines(text()) {
			var n, i, label int
			if tag {
				if _, err := fmt.Sscanf(line, "[%d] PE %d line %d", &label, &n, &i); err != nil || label != n {
					t.Fatalf("torn or wrongly tagged: %q", line)
				}
			} else if _, err := fmt.Sscanf(line, "PE %d line %d", &n, &i); err != nil {
				t.Fatalf("torn: %q", line)
			}
			if i != next[n] || strings.Count(line, "x") != i%97*20 {
				t.Fatalf("after line %d of PE %d comes %q", next[n]-1, n, line)
			}
			next[n]++
		}
		for n, i := range next {
			if i != lines {
				t.Errorf("PE %d: %d lines, want %d", n, i, lines)
			}
		}
	}
}

func TestUnfinishedLines(t *testing.T) {
	o, to, text := console(t, false, false)
	w := pe(t, o, 0, to)
	write(t, w, "one\ntwo")
	need.Eventually(t, "the whole line is written", func() bool { return text() == "one\n" })
	o.say("a remark")
	need.Eventually(t, "the remark is written", func() bool { return strings.HasSuffix(text(), "remark\n") })
	w.Close()
	o.readers.Wait()
	if got, want := text(), "one\nshmemrun: a remark\ntwo"; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	o, to, text = console(t, true, false)
	w = pe(t, o, 7, to)
	write(t, w, "a\r\nb\r50%\rend")
	w.Close()
	o.readers.Wait()
	if got, want := text(), "[7] a\r\n[7] b\r[7] 50%\r[7] end\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLongLine(t *testing.T) {
	o, to, text := console(t, false, false)
	w := pe(t, o, 0, to)
	long := strings.Repeat("x", maxLine+20<<10)
	write(t, w, long)
	need.Eventually(t, "an endless line is written in parts", func() bool { return len(text()) > maxLine })
	w.Close()
	o.readers.Wait()
	if text() != long {
		t.Error("bytes are lost")
	}
}

func TestPromptOnTerminal(t *testing.T) {
	o, to, text := console(t, true, true)
	a, b := pe(t, o, 0, to), pe(t, o, 1, to)
	write(t, a, "name? ")
	need.Eventually(t, "the prompt shows", func() bool { return text() == "[0] name? " })
	write(t, b, "hello\n")
	need.Eventually(t, "another PE's line begins a new one", func() bool { return text() == "[0] name? \n[1] hello\n" })
	write(t, a, "rest\nmore ")
	need.Eventually(t, "the rest has no second tag", func() bool { return text() == "[0] name? \n[1] hello\nrest\n[0] more " })
	o.say("remark")
	need.Eventually(t, "a remark begins a new line", func() bool { return strings.HasSuffix(text(), "[0] more \nshmemrun: remark\n") })
	a.Close()
	b.Close()
	o.readers.Wait()
}

// When the reader has gone, the PE gets the broken pipe itself.
func TestReaderLeaves(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	o := newOutput(false, w, w)
	p := pe(t, o, 0, o.out)
	defer p.Close()
	write(t, p, "into the void\n")
	o.readers.Wait()
	if _, err := p.WriteString("again\n"); err == nil {
		t.Error("the PE can still write")
	}
}

// A slow reader gets everything, and an end of a pipe that another process keeps open is not waited
// for.
func TestFinish(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := newOutput(false, w, w)
	from, kept, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	o.forward(0, from, o.out)
	line := strings.Repeat("x", 99) + "\n"
	const lines = 1500 // more than two pipes hold at once
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		write(t, kept, strings.Repeat(line, lines))
	}()
	got := make(chan int)
	go func() {
		<-wrote
		time.Sleep(drainLimit + 100*time.Millisecond)
		b, _ := io.ReadAll(r)
		got <- len(b)
	}()
	// Make room for the last write to end, so that the rest lies in pipes.
	var first [100 * 500]byte
	if _, err := io.ReadFull(r, first[:]); err != nil {
		t.Fatal(err)
	}
	<-wrote
	o.say("bye")
	o.finish([]*os.File{from}, 0, nil)
	w.Close()
	if n, want := <-got, len(line)*(lines-500)+len("shmemrun: bye\n"); n != want {
		t.Errorf("%d bytes arrived late, want %d", n, want)
	}
}

// A job that was ended shows its output, however slow the machine is: only a reader that does not
// read keeps it back.
func TestFinishIsSlow(t *testing.T) {
	o, to, text := console(t, false, false)
	w := pe(t, o, 0, to)
	to.lock.mu.Lock() // nothing gets on
	write(t, w, "last words\n")
	w.Close()
	ended, sigs := make(chan struct{}), make(chan os.Signal)
	go func() {
		o.finish(nil, time.Millisecond, sigs)
		close(ended)
	}()
	// Each signal that it takes shows that it has not given up. Most of them find its timeout
	// over, and half of those come after the end of its timeout was noticed.
	for range 40 {
		select {
		case <-ended:
			t.Fatal("it gave up, although the reader reads")
		case sigs <- unix.SIGUSR1:
		}
		time.Sleep(time.Millisecond)
	}
	to.lock.mu.Unlock()
	<-ended
	if got := text(); got != "last words\n" {
		t.Errorf("%q", got)
	}
}

// A reader that never reads does not keep the job from ending on a signal.
func TestFinishGivesUp(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	o := newOutput(false, w, w)
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o.forward(0, from, o.out)
	go func() {
		defer to.Close()
		for range 300 {
			if _, err := to.WriteString(strings.Repeat("x", 999) + "\n"); err != nil {
				return
			}
		}
	}()
	need.Eventually(t, "a full pipe", o.out.full)
	sigs := make(chan os.Signal)
	ended := make(chan struct{})
	go func() {
		o.finish(nil, 0, sigs)
		close(ended)
	}()
	// It waits when it takes a signal that ends nothing, and goes on to when it takes the next.
	for range 2 {
		select {
		case <-ended:
			t.Fatal("it ended although there was no reader")
		case sigs <- unix.SIGUSR1:
		}
	}
	sigs <- os.Interrupt
	<-ended
}
