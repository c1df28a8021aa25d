package guard

import (
	"strings"
	"testing"
	"time"
)

// caughtBy returns what End is given, and sets it back.
func caughtBy(t *testing.T, run func()) *Panic {
	t.Helper()
	came := make(chan *Panic, 1)
	End(func(p *Panic) { came <- p })
	defer end.Store(nil)
	run()
	select {
	case p := <-came:
		return p
	case <-time.After(time.Minute):
		t.Fatal("no panic came")
		return nil
	}
}

func index(list []int, i int) int { return list[i] }

// TestCatch has goroutines, timers and calls panic. Each is reported once, after its own deferred
// functions, with the place of the panic.
func TestCatch(t *testing.T) {
	for name, run := range map[string]func(f func()){
		"go":    func(f func()) { Go("the proxy", f) },
		"timer": func(f func()) { time.AfterFunc(0, Func("the proxy", f)) },
		"call": func(f func()) {
			defer Catch("the proxy")
			f()
		},
	} {
		t.Run(name, func(t *testing.T) {
			deferred := false
			p := caughtBy(t, func() {
				run(func() {
					defer func() { deferred = true }()
					index(nil, 3)
				})
			})
			if p.Error() != "the proxy: internal error: runtime error: index out of range [3] with length 0" {
				t.Errorf("the report is %q", p.Error())
			}
			if !deferred || !strings.Contains(string(p.Stack), "guard.index") {
				t.Errorf("deferred functions ran: %v; the stack is\n%s", deferred, p.Stack)
			}
		})
	}
}

// TestNoEnd: without an End a panic goes on, with its own value.
func TestNoEnd(t *testing.T) {
	defer func() {
		if r := recover(); r != "mine" {
			t.Errorf("the caller recovers %v", r)
		}
	}()
	Func("a goroutine", func() { panic("mine") })()
}

// TestNoPanic: a function without a panic ends as it would, and Drop reports nothing.
func TestNoPanic(t *testing.T) {
	End(func(p *Panic) { t.Errorf("ended by %v", p) })
	defer end.Store(nil)
	ran := false
	Func("a goroutine", func() { ran = true })()
	func() {
		defer Drop()
		panic("at the end")
	}()
	if !ran {
		t.Error("the function did not run")
	}
}
