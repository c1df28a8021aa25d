package tracefile

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Moment converts a time of the PE's own clock to that of PE 0. Between two comparisons of clocks
// it interpolates the offset linearly, because clocks differ in speed; before the first comparison
// and after the last the offset is constant.
func (p *PE) Moment(at int64) int64 {
	c := p.Clock
	i := 0
	for i < len(c) && c[i].At <= at {
		i++
	}
	switch {
	case len(c) == 0:
		return at
	case i == 0:
		return at + c[0].Add
	case i == len(c):
		return at + c[i-1].Add
	}
	a, b := c[i-1], c[i]
	return at + a.Add + fractionOf(b.Add-a.Add, at-a.At, b.At-a.At)
}

// fractionOf returns n * part / whole, for 0 <= part < whole, by a product of 128 bits, which does
// not overflow.
func fractionOf(n, part, whole int64) int64 {
	if n < 0 {
		return -fractionOf(-n, part, whole)
	}
	hi, lo := bits.Mul64(uint64(n), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}

// ClockError returns the largest possible error of the PE's times on the clock of PE 0, according
// to its clock comparisons.
func (p *PE) ClockError() int64 {
	most := int64(0)
	for _, c := range p.Clock {
		most = max(most, c.Error)
	}
	return most
}

// Alignment describes how well the clocks of the PEs agree.
type Alignment struct {
	Error    int64    // ns: the largest error of the difference between times of two PEs
	Known    bool     // false: PEs of several hosts have not compared their clocks
	Sentence string   // says how well the clocks agree
	Hosts    []string // the hosts that are known, in the order of their PEs
}

// Alignment says how far times of different PEs can be compared, according to the clock comparisons
// in the files: the largest error, whether there were comparisons for all hosts, and a sentence for
// the report.
func (t *Trace) Alignment() Alignment {
	var a Alignment
	without := map[string]bool{}        // hosts of PEs whose clocks were not compared
	once := 0                           // PEs whose clocks were compared once
	worst, second := int64(0), int64(0) // an interval between two PEs has the errors of both
	zero := t.PE(0)
	for _, p := range t.PEs {
		if p.Host != "" && !slices.Contains(a.Hosts, p.Host) {
			a.Hosts = append(a.Hosts, p.Host)
		}
		switch len(p.Clock) {
		case 0:
			without[p.Host] = true
		case 1: // a comparison without an error means that both PEs use the same clock
			if p.ClockError() > 0 {
				once++
			}
		}
		switch e := p.ClockError(); {
		case e > worst:
			worst, second = e, worst
		case e > second:
			second = e
		}
	}
	a.Error, a.Known = worst+second, true
	// A PE without a comparison has the clock of PE 0 if it is on PE 0's host.
	if zero != nil && zero.Host != "" {
		delete(without, zero.Host)
	}
	switch {
	case len(a.Hosts) == 0 && worst == 0:
		a.Known = len(t.PEs) == 1
		a.Sentence = "The files do not say on which hosts the PEs were: their clocks are taken as they are."
	case len(a.Hosts) == 1 && worst == 0:
		a.Sentence = "All PEs are on one host and share its clock."
	case len(without) > 0 && len(a.Hosts) > 1:
		a.Known = false
		var names []string
		for h := range without {
			names = append(names, h)
		}
		slices.Sort(names)
		a.Sentence = fmt.Sprintf("The clocks of %s were not compared with that of PE 0: between hosts, times differ by as much as their clocks do.", strings.Join(names, ", "))
	case once > 0:
		a.Sentence = fmt.Sprintf("Clocks of PEs agree within %s, but %d of them were compared only once, so that the difference of their speeds is not known.", Duration(a.Error), once)
	default:
		a.Sentence = fmt.Sprintf("Clocks of PEs agree within %s.", Duration(a.Error))
	}
	return a
}
