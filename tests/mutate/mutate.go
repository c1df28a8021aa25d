// Package mutate gives readers of files and messages changed inputs, always the same ones: samples
// with bytes, numbers and ranges that were changed, deleted, repeated or taken from another sample.
// A reader may refuse what it gets, but does not panic.
//
// How many inputs a reader gets is the load "mutations" of tests/need.
package mutate

import (
	"bytes"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"testing"

	"libshmem/tests/need"
)

// longest bounds the inputs, which repeated ranges make longer.
const longest = 1 << 16

// tokens are texts at which readers go wrong.
var tokens = []string{
	"0", "-1", "1e300", "-1e12", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "4294967296", "2147483647", "0.5", "01",
	"null", "true", "[]", "{}", `""`, `"`, "\\", "<", ">", "&", "=", ";", ":", ",", "[", "]", "{", "}", " ", "\n", "\r\n", "\x00", "\xff", "\xe2\x80",
}

// Each calls read with changed inputs, up to the first for which it fails the test or panics.
func Each(t *testing.T, samples [][]byte, read func(in []byte)) {
	t.Helper()
	const seed = 50
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range need.Load("mutations") {
		in := change(r, samples)
		try(t, i, in, read)
		if t.Failed() {
			t.FailNow()
		}
	}
}

func try(t *testing.T, i int, in []byte, read func([]byte)) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); p != nil {
			t.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if t.Failed() {
			t.Logf("input %d: %q", i, in)
		}
	}()
	read(in)
}

// change returns a sample after one to four changes.
func change(r *rand.Rand, samples [][]byte) []byte {
	b := bytes.Clone(samples[r.IntN(len(samples))])
	for range 1 + r.IntN(4) {
		b = changeOnce(r, b, samples)
	}
	return b[:min(len(b), longest)]
}

func changeOnce(r *rand.Rand, b []byte, samples [][]byte) []byte {
	if len(b) == 0 {
		return []byte(tokens[r.IntN(len(tokens))])
	}
	from, to := span(r, len(b))
	switch r.IntN(8) {
	case 0: // a bit
		b[from] ^= 1 << r.IntN(8)
	case 1: // a byte
		b[from] = byte(r.Uint32())
	case 2: // without a range
		b = append(b[:from], b[to:]...)
	case 3: // a range twice
		b = splice(b, to, to, b[from:to])
	case 4: // a token in place of a range
		b = splice(b, from, to, []byte(tokens[r.IntN(len(tokens))]))
	case 5: // cut
		b = b[:from]
	case 6: // a range of another sample
		other := samples[r.IntN(len(samples))]
		if len(other) > 0 {
			first, last := span(r, len(other))
			b = splice(b, from, to, other[first:last])
		}
	case 7: // another number
		if first, last := number(b, from); first < last {
			b = splice(b, first, last, newNumber(r, b[first:last]))
		}
	}
	return b
}

// span chooses a range, mostly a short one.
func span(r *rand.Rand, n int) (from, to int) {
	from = r.IntN(n)
	most := n - from
	if r.IntN(4) != 0 {
		most = min(most, 16)
	}
	return from, from + 1 + r.IntN(most)
}

func splice(b []byte, from, to int, with []byte) []byte {
	return bytes.Join([][]byte{b[:from], with, b[to:]}, nil)
}

// number finds the first decimal number from a place on.
func number(b []byte, from int) (first, last int) {
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	for first = from; first < len(b) && !isDigit(b[first]); first++ {
	}
	for last = first; last < len(b) && isDigit(b[last]); last++ {
	}
	return first, last
}

func newNumber(r *rand.Rand, old []byte) []byte {
	n, err := strconv.ParseInt(string(old), 10, 64)
	switch {
	case err != nil || r.IntN(4) == 0:
		return []byte(tokens[r.IntN(11)]) // the numbers
	case r.IntN(2) == 0:
		n += r.Int64N(5) - 2
	default:
		n *= r.Int64N(1 << 20)
	}
	return strconv.AppendInt(nil, n, 10)
}
