package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
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
		if got := lineEnd([]byte(in)); got != want {
			t.Errorf("lineEnd(%q) = %d, want %d", in, got, want)
		}
	}
}

// console is an output whose sink is a file that the test can read.
func console(t *testing.T, tag, terminal bool) (*output, sink, func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	to := sink{file: f, terminal: terminal}
	return &output{tag: tag, errs: to}, to, func() string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

// pe returns what a PE would write to.
func pe(t *testing.T, o *output, n int, to sink) *os.File {
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

// eventually waits for what other goroutines do.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

func TestLinesStayWhole(t *testing.T) {
	for _, tag := range []bool{false, true} {
		o, to, text := console(t, tag, false)
		const pes, lines = 8, 300
		var wg sync.WaitGroup
		for n := range pes {
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
		o.wg.Wait()
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
	eventually(t, "the whole line is written", func() bool { return text() == "one\n" })
	o.say("a remark")
	w.Close()
	o.wg.Wait()
	if got, want := text(), "one\nshmemrun: a remark\ntwo"; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	o, to, text = console(t, true, false)
	w = pe(t, o, 7, to)
	write(t, w, "a\r\nb\r50%\rend")
	w.Close()
	o.wg.Wait()
	if got, want := text(), "[7] a\r\n[7] b\r[7] 50%\r[7] end\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLongLine(t *testing.T) {
	o, to, text := console(t, false, false)
	w := pe(t, o, 0, to)
	long := strings.Repeat("x", maxLine+20<<10)
	write(t, w, long)
	eventually(t, "an endless line is written in parts", func() bool { return len(text()) > maxLine })
	w.Close()
	o.wg.Wait()
	if text() != long {
		t.Error("bytes are lost")
	}
}

func TestPromptOnTerminal(t *testing.T) {
	o, to, text := console(t, true, true)
	a, b := pe(t, o, 0, to), pe(t, o, 1, to)
	write(t, a, "name? ")
	eventually(t, "the prompt shows", func() bool { return text() == "[0] name? " })
	write(t, b, "hello\n")
	eventually(t, "another PE's line begins a new one", func() bool { return text() == "[0] name? \n[1] hello\n" })
	write(t, a, "rest\nmore ")
	eventually(t, "the rest has no second tag", func() bool { return text() == "[0] name? \n[1] hello\nrest\n[0] more " })
	o.say("remark")
	if want := "[0] more \nshmemrun: remark\n"; !strings.HasSuffix(text(), want) {
		t.Errorf("%q, want it to end in %q", text(), want)
	}
	a.Close()
	b.Close()
	o.wg.Wait()
}

// When nobody reads the output, the PE meets the broken pipe itself.
func TestReaderLeaves(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	o := &output{}
	p := pe(t, o, 0, sink{file: w})
	defer p.Close()
	write(t, p, "into the void\n")
	o.wg.Wait()
	if _, err := p.WriteString("again\n"); err == nil {
		t.Error("the PE can still write")
	}
}
