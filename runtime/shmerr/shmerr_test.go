package shmerr

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestErrorText(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{"open", "provider efa", cause, "install it"}, "open provider efa: cause (install it)"},
		{&Error{"open", "provider efa", cause, ""}, "open provider efa: cause"},
		{&Error{"open", "", cause, "install it"}, "open: cause (install it)"},
		{&Error{"open", "", nil, ""}, "open"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	err := errors.Join(errors.New("first"), fmt.Errorf("then: %w", errors.Join(errors.New("a"), errors.New("b"))))
	if got, want := OneLine(err), "first; then: a; b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCausefPrintsTheTextOnly(t *testing.T) {
	err := fmt.Errorf("outer: %w", &Error{Op: "put", Cause: Causef(ErrPE, "PE %d is outside 0..3: %w", 9, io.EOF)})
	if want := "outer: put: PE 9 is outside 0..3: EOF"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if !errors.Is(err, ErrPE) || !errors.Is(err, io.EOF) {
		t.Error("the chain lacks the kind or the wrapped error")
	}
	if errors.Is(err, ErrRange) {
		t.Error("the error claims a kind that it is not")
	}
	if got := StatusOf(err); got != BadPE {
		t.Errorf("StatusOf = %d, want %d", got, BadPE)
	}
}

func TestStatusOfPrefersTheKindOfTheOuterCause(t *testing.T) {
	inner := Causef(ErrSystem, "mmap failed")
	if got := StatusOf(Causef(ErrNoMemory, "no room: %w", inner)); got != NoMemory {
		t.Errorf("StatusOf = %d, want %d", got, NoMemory)
	}
}

func TestUnsupported(t *testing.T) {
	var err error = &Error{Op: "map", Cause: &UnsupportedError{Feature: "dma-buf", Needs: "libfabric 1.20"}}
	if want := "map: dma-buf is not supported here: it needs libfabric 1.20"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if !errors.Is(err, ErrUnsupported) || StatusOf(err) != Unsupported {
		t.Error("an UnsupportedError is not ErrUnsupported")
	}
}

// The table and the codes cannot drift: each code from 1 on has one sentinel.
func TestEveryStatusHasASentinel(t *testing.T) {
	if len(sentinels) != int(statusLimit)-1 {
		t.Fatalf("%d sentinels for %d codes", len(sentinels), statusLimit-1)
	}
	for i, s := range sentinels {
		if s.status != Status(i+1) {
			t.Errorf("sentinel %d (%s) has status %d", i+1, s, s.status)
		}
		if StatusOf(s) != s.status || s.status.String() != s.Error() {
			t.Errorf("status %d and its sentinel disagree", s.status)
		}
	}
	if StatusOf(nil) != OK || StatusOf(io.EOF) != Internal || OK.String() != "ok" || statusLimit.String() != "unknown status" {
		t.Error("StatusOf or String is wrong at the ends of the range")
	}
}
