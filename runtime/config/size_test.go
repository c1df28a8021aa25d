package config

import (
	"math"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want uint64
	}{
		{"0", 0}, {"1", 1}, {"20m", 20971520}, {"20M", 20971520}, {"3.1M", 3250586}, {".5m", 524288},
		{"0.5m", 524288}, {"5.k", 5120}, {"1.5G", 1610612736}, {"2t", 2 << 40}, {"20kk", 20480}, {"1gb", 1 << 30},
		{"1GiB", 1 << 30}, {"1.2", 2}, {"18446744073709551615", math.MaxUint64}, {"16777215.99999t", 18446744073698556500},
		{"0.0000000000000001t", 1}, {"007", 7},
	} {
		if got, err := ParseSize(tt.text); err != nil || got != tt.want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"", ".", "k", "-1", "+1", "1.2.3", " 1", "1 k", "1e9", "0x10", "1_000", "1p", "٣", "1é",
		"18446744073709551616", "16777216t", strings.Repeat("9", 1000), "1\x0b"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1g", "1.5G", "20kk", ".5m", "18446744073709551615", "0.1t", "..", "9e9", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseSize(text)
		if err != nil {
			return
		}
		if text[0] != '.' && (text[0] < '0' || text[0] > '9') {
			t.Fatalf("%q has no number and gave %d", text, n)
		}
		if again, err := ParseSize(FormatSize(n)); err != nil || again != n {
			t.Fatalf("%q: FormatSize(%d) = %q reads back as %d, %v", text, n, FormatSize(n), again, err)
		}
		// The exact value differs from the float by less than the float's
		// own error and the rounding up.
		end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		scale := 1.0
		digits := text
		if end >= 0 {
			digits = text[:end]
			scale = math.Pow(1024, float64(1+strings.IndexByte("kmgt", text[end]|0x20)))
		}
		x, err := parseDecimal(digits)
		if err != nil {
			t.Fatalf("%q: accepted, but %q is not a number", text, digits)
		}
		if d := float64(n) - x*scale; d < -x*scale*1e-15 || d > 1+x*scale*1e-15 {
			t.Fatalf("%q = %d, more than a byte from %g", text, n, x*scale)
		}
	})
}
