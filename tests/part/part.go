// Package part cuts a search into parts, one for each process of scripts/parts.
package part

import (
	"flag"
	"fmt"
)

// Part is the K-th of N, counted from 0. Its zero value is the whole search.
type Part struct{ K, N uint64 }

// Flag returns a part that a flag of a test program sets.
func Flag(name, usage string) *Part {
	p := &Part{N: 1}
	flag.Var(p, name, "k/n: one process of n, "+usage+"; k counts from 0")
	return p
}

// String is part of flag.Value.
func (p *Part) String() string { return fmt.Sprintf("%d/%d", p.K, max(p.N, 1)) }

// Set is part of flag.Value.
func (p *Part) Set(s string) error {
	var k, n uint64
	if _, err := fmt.Sscanf(s, "%d/%d", &k, &n); err != nil || k >= n {
		return fmt.Errorf("%q is not k/n with k below n", s)
	}
	p.K, p.N = k, n
	return nil
}

// Share returns this part's share of n, rounded up.
func (p *Part) Share(of int) int {
	n := int(max(p.N, 1))
	return (of + n - 1) / n
}

// Has reports whether the item with a number belongs to this part.
func (p *Part) Has(number uint64) bool { return number%max(p.N, 1) == p.K }

// Seed returns the first seed of this part. The seeds after it belong to no other part.
func (p *Part) Seed() uint64 { return p.K<<32 + 1 }
