// Package guard catches the panics of goroutines and of functions that C calls, and gives them to
// one function, which ends the process. It owns that function, and does not know how a process ends.
//
// A panic that nothing catches makes Go print a traceback and end the process with status 2, without
// the number of the PE, the call, and the launcher's knowledge. tests/repo holds each goroutine of
// the library, and each function that it exports to C, to this package. Go itself still ends the
// process where it does not make a panic: for concurrent writes of a map, for want of memory or
// stack, and for a fault at an address that is not near 0.
//
// In a process without an End, as in commands and tests, panics go on as if the package were not
// there.
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

var end atomic.Pointer[func(*Panic)]

// End sets the function that ends the process for a panic. It is called on the goroutine of the
// panic, after its deferred functions, and not called again on that goroutine. It does not return.
func End(f func(*Panic)) { end.Store(&f) }

// Catch is deferred by a goroutine or by a function that C calls. Without a panic it takes 4 ns.
func Catch(where string) {
	if r := recover(); r != nil {
		caught(where, r)
	}
}

func caught(where string, value any) {
	f := end.Load()
	if f == nil {
		panic(value)
	}
	(*f)(&Panic{where, value, debug.Stack()})
}

// Drop is Catch for functions that are called while the process ends anyway: nothing is reported.
func Drop() { _ = recover() }

// Go runs f in a goroutine.
func Go(where string, f func()) { go Func(where, f)() }

// Func returns f for a caller that runs it in a goroutine of its own, such as a timer.
func Func(where string, f func()) func() {
	return func() {
		defer Catch(where)
		f()
	}
}
