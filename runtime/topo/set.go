package topo

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Set is a set of processors by the system's numbers, or of NUMA nodes. It is comparable: equal
// sets are equal strings. The empty string is the empty set.
type Set string // 8 bits in each byte, without zero bytes at the end

// maxCPU bounds the numbers of processors, of which a Linux kernel has at most 8192.
const maxCPU = 1 << 16

// NewSet makes a set of processor numbers from 0 to 65535; others are left out.
func NewSet(cpus ...int) Set {
	var b []byte
	for _, cpu := range cpus {
		if cpu < 0 || cpu >= maxCPU {
			continue
		}
		for len(b) <= cpu/8 {
			b = append(b, 0)
		}
		b[cpu/8] |= 1 << (cpu % 8)
	}
	return Set(b)
}

// Count returns the number of processors in the set.
func (c Set) Count() int {
	n := 0
	for i := range len(c) {
		n += bits.OnesCount8(c[i])
	}
	return n
}

// Within reports whether d has all processors of c.
func (c Set) Within(d Set) bool {
	if len(c) > len(d) {
		return false
	}
	for i := range len(c) {
		if c[i]&^d[i] != 0 {
			return false
		}
	}
	return true
}

// And returns the processors that are in both sets. A set has no zero bytes at its end, so that
// equal sets are equal strings.
func (c Set) And(d Set) Set {
	b := make([]byte, min(len(c), len(d)))
	for i := range b {
		b[i] = c[i] & d[i]
	}
	return Set(strings.TrimRight(string(b), "\x00"))
}

// Or returns the processors that are in either set.
func (c Set) Or(d Set) Set {
	if len(c) < len(d) {
		c, d = d, c
	}
	b := []byte(c)
	for i := range len(d) {
		b[i] |= d[i]
	}
	return Set(b)
}

// Minus returns the processors of c that are not in d.
func (c Set) Minus(d Set) Set {
	b := []byte(c)
	for i := range min(len(c), len(d)) {
		b[i] &^= d[i]
	}
	return Set(strings.TrimRight(string(b), "\x00"))
}

// List returns the processor numbers in the set, ascending.
func (c Set) List() []int {
	var cpus []int
	for i := range len(c) {
		for b := c[i]; b != 0; b &= b - 1 {
			cpus = append(cpus, i*8+bits.TrailingZeros8(b))
		}
	}
	return cpus
}

// String returns the numbers as the kernel writes them: 0-3,8.
func (c Set) String() string { return JoinRuns(Runs(c.List())) }

// Run is consecutive numbers.
type Run struct{ First, Last int }

// Len returns the number of processors in the run.
func (r Run) Len() int { return r.Last - r.First + 1 }

// Runs splits a list of ascending numbers into runs of consecutive ones.
func Runs(numbers []int) []Run {
	var all []Run
	for _, n := range numbers {
		if last := len(all) - 1; last >= 0 && n == all[last].Last+1 {
			all[last].Last = n
		} else {
			all = append(all, Run{n, n})
		}
	}
	return all
}

// JoinRuns writes runs of numbers as the kernel does: 0-3,8.
func JoinRuns(runs []Run) string {
	var parts []string
	for _, r := range runs {
		part := strconv.Itoa(r.First)
		if r.Len() > 1 {
			part += "-" + strconv.Itoa(r.Last)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// ParseSet reads a list of processors such as 0-3,8, as String and the kernel write it; an empty
// text is the empty set.
func ParseSet(text string) (Set, error) {
	var cpus []int
	if text = strings.TrimSpace(text); text == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		b := a
		if err == nil && ranged {
			b, err = strconv.Atoi(last)
		}
		if err != nil || a < 0 || b < a || b >= maxCPU {
			return "", fmt.Errorf("%q is neither a number nor a range of numbers as 0-3", part)
		}
		for ; a <= b; a++ {
			cpus = append(cpus, a)
		}
	}
	return NewSet(cpus...), nil
}

// parseMask reads a set as hwloc writes it: words of 32 bits in hexadecimal, the
// highest first.
func parseMask(text string) (Set, error) {
	words := strings.Split(text, ",")
	if len(words) > maxCPU/32 {
		return "", fmt.Errorf("a set of %d words of 32 bits is too large", len(words))
	}
	slices.Reverse(words)
	b := make([]byte, 4*len(words))
	for i, word := range words {
		if word == "" {
			continue // hwloc's short way to write 0
		}
		v, err := strconv.ParseUint(strings.TrimPrefix(word, "0x"), 16, 32)
		if err != nil || !strings.HasPrefix(word, "0x") {
			return "", fmt.Errorf("%q is no word of 32 bits as 0x0000ffff", word)
		}
		for k := range 4 {
			b[4*i+k] = byte(v >> (8 * k))
		}
	}
	return Set(strings.TrimRight(string(b), "\x00")), nil
}
