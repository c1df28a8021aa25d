package shmerr

import (
	"fmt"
	"strings"
)

// Error names what failed, on what, why, and the remedy. It prints as one line:
//
//	<operation> <object>: <cause> (<remedy>)
type Error struct {
	Op     string // the operation, a verb: "allocate", "open"
	Object string // the object of the operation; may be empty
	Cause  error
	Remedy string // a change that the reader can make; may be empty
}

// Error returns the error as one line, in the form that the type describes.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Object != "" {
		b.WriteString(" " + e.Object)
	}
	if e.Cause != nil {
		b.WriteString(": " + e.Cause.Error())
	}
	if e.Remedy != "" {
		b.WriteString(" (" + e.Remedy + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// OneLine returns the text of an error on one line, also of joined errors.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Causef makes a cause of the given kind, for errors.Is, that prints as the formatted text alone.
// The text of kind is too general to be printed beside it: "PE 9 is outside 0..3" rather than "no
// such PE: PE 9 ...". An error among the arguments, for %w, is in the chain as well.
func Causef(kind error, format string, args ...any) error {
	return &cause{text: fmt.Errorf(format, args...), kind: kind}
}

// cause is an error with the text of one error and the kind of another.
type cause struct {
	text error
	kind error
}

// Error returns the text alone; the kind is for errors.Is.
func (c *cause) Error() string { return c.text.Error() }

// Unwrap returns the kind and the error with the text.
func (c *cause) Unwrap() []error { return []error{c.kind, c.text} }

// UnsupportedError reports a feature that this build, machine or library version does not have, and
// what would provide it.
type UnsupportedError struct {
	Feature string // "FI_MR_DMABUF"
	Needs   string // "libfabric 1.20 or later; this is 1.17"
}

// Error names the feature and what it needs.
func (e *UnsupportedError) Error() string {
	return e.Feature + " is not supported here: it needs " + e.Needs
}

// Unwrap makes errors.Is(err, ErrUnsupported) hold.
func (e *UnsupportedError) Unwrap() error { return ErrUnsupported }
