package gpuwork

import (
	"strings"
	"testing"
	"time"
)

// TestTexts: each errand has a text, and those about a PE name it.
func TestTexts(t *testing.T) {
	for w := None; w <= Holds; w++ {
		text := Text(Noted(w, 7))
		if (text == "") != (w == None) || strings.Contains(text, "%!") || strings.Contains(text, "PE 7") != (w >= Put && w <= Came) {
			t.Errorf("errand %d is %q", w, text)
		}
	}
}

// TestUndone: operations and bytes are named, and what the oldest is for, as far as there is any.
func TestUndone(t *testing.T) {
	for want, u := range map[string]Undone{
		"1 operation on GPU memory":                                                                      {Ops: 1},
		"2 operations with 30 bytes on GPU memory":                                                       {Ops: 2, Bytes: 30},
		"2 operations with 30 bytes on GPU memory, the oldest for a put to PE 4":                         {Ops: 2, Bytes: 30, For: Text(Noted(Put, 4))},
		"1 operation on GPU memory, the oldest for a put, a signal or an atomic operation of PE 1048575": {Ops: 1, For: Text(Noted(Came, 1<<20-1))},
	} {
		if got := u.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestShown: what a page has comes out as it is, with its age, and a stream that has done all is
// not there.
func TestShown(t *testing.T) {
	s := Shown{Ops: 3, Bytes: 40, Errand: Noted(Get, 2), Since: 1000}
	want := Undone{Stream: StreamOut, Ops: 3, Bytes: 40, For: "for a get from PE 2", Age: 500 * time.Nanosecond}
	if got, ok := s.Undone(StreamOut, 1500); !ok || got != want {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	if got, ok := new(Shown).Undone(StreamIn, 1500); ok {
		t.Errorf("a stream with nothing to do: %+v", got)
	}
}
