// Package guard catches the panics of goroutines and of functions that C calls, and passes them to
// the function that End has set, which ends the process. It does not know how a process ends.
//
// A panic that nothing catches makes Go print a traceback and end the process with status 2: the
// text names neither the PE nor the call, and the launcher learns no reason. tests/repo checks that
// each goroutine of the library, and each function that it exports to C, uses this package. Some
// errors are not panics, and at these Go ends the process at once: concurrent writes of a map, no
// memory or stack left, and a fault at an address that is not near 0.
//
// In a process that has not called End, as in commands and tests, panics go on as if the package
// were not there.
package guard

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Panic is a panic that was caught.
type Panic struct {
	Where string // the goroutine or the call
	Value any
	Stack []byte
}

// Error returns the place of the panic and its value.
func (p *Panic) Error() string { return fmt.Sprintf("%s: internal error: %v", p.Where, p.Value) }

// end is the function that End has set; nil: none.
var end atomic.Pointer[func(*Panic)]

// End sets f, the function that ends the process for a panic. f is called on the goroutine of the
// panic, after the goroutine's deferred functions, and must not return.
func End(f func(*Panic)) { end.Store(&f) }

// Catch catches a panic and ends the process. A goroutine, or a function that C calls, defers
// Catch itself: called by a deferred function, recover would catch nothing. where names that
// goroutine or function in the report. Without a panic Catch takes 4 ns.
func Catch(where string) {
	if r := recover(); r != nil {
		caught(where, r)
	}
}

// caught passes a panic of a goroutine to the function that End has set, which ends the job with a
// report, or panics again if there is none.
func caught(where string, value any) {
	f := end.Load()
	if f == nil {
		panic(value)
	}
	(*f)(&Panic{where, value, debug.Stack()})
}

// Drop catches a panic and reports nothing. It is deferred by functions that run while the process
// ends anyway.
func Drop() { _ = recover() }

// Go runs f in a goroutine, whose panics it catches; where names the goroutine in the report.
func Go(where string, f func()) { go Func(where, f)() }

// Func returns a function that runs f and catches its panics, for a caller that starts the
// goroutine itself, such as a timer.
func Func(where string, f func()) func() {
	return func() {
		defer Catch(where)
		f()
	}
}
