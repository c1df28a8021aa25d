package tracereport

import (
	"math"

	"libshmem/cmd/internal/tracefile"
)

// The colours of a heat map are classes 1 to shades. The upper limit of each is that of the class
// before it multiplied by a constant factor, because the bytes of pairs of PEs differ by orders of
// magnitude. Class 0 means no bytes.
const shades = 8

// scale has the upper limits of the classes.
type scale [shades + 1]int64

// newScale returns the scale of colours for the numbers of a matrix: the upper limits of the
// classes grow by the same factor from the smallest number above 0 to the largest.
func newScale(m [][]int64) scale {
	least, most := int64(0), int64(0)
	for _, row := range m {
		for _, n := range row {
			if n > 0 && (least == 0 || n < least) {
				least = n
			}
			most = max(most, n)
		}
	}
	var s scale
	if most == 0 {
		return s
	}
	step := math.Pow(float64(most)/float64(least), 1/float64(shades-1))
	for i := 1; i <= shades; i++ {
		s[i] = int64(math.Round(float64(least) * math.Pow(step, float64(i-1))))
	}
	s[shades] = most
	return s
}

// class returns the class of a number: the darkest one for the largest number, even if all are
// equal.
func (s *scale) class(n int64) int {
	if n <= 0 {
		return 0
	}
	for i := 1; i < shades; i++ {
		if n <= s[i] && s[i] < s[i+1] {
			return i
		}
	}
	return shades
}

// shade is a class of numbers with its label, for the legend of the plot.
type shade struct {
	Class int
	Text  string
}

// legend lists the classes that a number can have. If the numbers differ little, the rounded limits
// of several classes are the same; class then never returns any of them but the last, so only that
// one is listed.
func (s *scale) legend() []shade {
	list := []shade{{0, "none"}}
	if s[shades] == 0 {
		return list
	}
	for i := 1; i <= shades; i++ {
		if i == shades || s[i] < s[i+1] {
			list = append(list, shade{i, "up to " + tracefile.Size(s[i])})
		}
	}
	return list
}

// labelEvery returns the distance between labelled rows, a power of two: labels of `size` pixels
// must not overlap in a map of n rows of `cell` pixels.
func labelEvery(n, cell, size int) int {
	every := 1
	for every*cell < size && every < n {
		every *= 2
	}
	return every
}
