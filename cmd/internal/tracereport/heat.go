package tracereport

import "math"

// The colours of a heat map are classes 1 to shades, of which each ends at a multiple of the one
// before it, as bytes of pairs differ by orders of magnitude. Class 0 is nothing.
const shades = 8

// scale is the upper ends of the classes.
type scale [shades + 1]int64

// newScale is a scale for the numbers of a matrix.
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

// class is the colour of a number.
func (s *scale) class(n int64) int {
	if n <= 0 {
		return 0
	}
	for i := 1; i < shades; i++ {
		if n <= s[i] {
			return i
		}
	}
	return shades
}
