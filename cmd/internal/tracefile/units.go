package tracefile

import (
	"fmt"
	"strconv"
)

// Duration returns nanoseconds as a text with three digits and a unit, such as "1.50 ms".
func Duration(ns int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if ns >= u.size || -ns >= u.size {
			return digits(float64(ns)/float64(u.size)) + " " + u.name
		}
	}
	return fmt.Sprintf("%d ns", ns)
}

// Size returns bytes as a text with three digits and a unit, such as "64.0 KiB".
func Size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n)
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if f /= 1024; f < 1000 || u == "PiB" {
			return digits(f) + " " + u
		}
	}
	return ""
}

// digits returns a number with three digits, or, above 1000, with all digits before the point.
func digits(f float64) string {
	switch {
	case f >= 99.95 || f <= -99.95:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 9.995 || f <= -9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}
