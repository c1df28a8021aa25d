package backlog

import (
	"strings"
	"testing"
	"time"

	"libshmem"
)

func noted(w Call, pe libshmem.PE) uint64 { return uint64(w)<<32 | uint64(uint32(pe)) }

// TestCallText: each call has a text, and those about a PE name it.
func TestCallText(t *testing.T) {
	for w := CallNone; w <= CallHolds; w++ {
		text := CallText(noted(w, 7))
		if (text == "") != (w == CallNone) || strings.Contains(text, "%!") || strings.Contains(text, "PE 7") != (w >= CallPut && w <= CallCame) {
			t.Errorf("call %d is %q", w, text)
		}
	}
}

// TestNoCall: a page of another process may have any number for a call.
func TestNoCall(t *testing.T) {
	for _, number := range []uint64{uint64(CallHolds) + 1, 255, 256 + uint64(CallPut), 1<<32 - 1} {
		if text := CallText(number<<32 | 7); text != "" {
			t.Errorf("call %d is %q", number, text)
		}
	}
}

// TestWork: the text names operations and bytes, and the purpose of the oldest, as far as there are
// any.
func TestWork(t *testing.T) {
	for want, w := range map[string]Work{
		"1 operation on GPU memory":                                                                      {Ops: 1},
		"2 operations with 30 bytes on GPU memory":                                                       {Ops: 2, Bytes: 30},
		"2 operations with 30 bytes on GPU memory, the oldest for a put to PE 4":                         {Ops: 2, Bytes: 30, For: CallText(noted(CallPut, 4))},
		"1 operation on GPU memory, the oldest for a put, a signal or an atomic operation of PE 1048575": {Ops: 1, For: CallText(noted(CallCame, 1<<20-1))},
	} {
		if got := w.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestShown: a page shows the work as it is, with its age. A stream without work is not shown.
func TestShown(t *testing.T) {
	s := Shown{Ops: 3, Bytes: 40, Call: noted(CallGet, 2), Since: 1000}
	want := Work{Stream: StreamOut, Ops: 3, Bytes: 40, For: "for a get from PE 2", Age: 500 * time.Nanosecond}
	if got, ok := s.Work(StreamOut, 1500); !ok || got != want {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	if got, ok := new(Shown).Work(StreamIn, 1500); ok {
		t.Errorf("a stream with nothing to do: %+v", got)
	}
}
