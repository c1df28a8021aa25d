package config

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

var errNotNumber = errors.New("it is not a decimal number")

// ParseSize reads a number of bytes as the specification's chapter on environment variables defines
// it: a non-negative decimal number, with or without a fraction, and an optional k, m, g or t in
// either case for the powers of 1024. Text after the letter is ignored, so that "1gb" is "1g". A
// fraction of a byte counts as a byte.
func ParseSize(text string) (uint64, error) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	digits, suffix := text[:end], text[end:]
	if err := checkDecimal(digits); err != nil {
		return 0, err
	}
	var shift uint
	if suffix != "" {
		i := strings.IndexByte("kmgt", suffix[0]|0x20)
		if i < 0 {
			return 0, errors.New("the letter after the number is not k, m, g or t")
		}
		shift = 10 * uint(i+1)
	}
	// The arithmetic is exact: "3.1M" has no exact float64, and to round up a value that is too
	// large by one part in 2^53 would add a byte.
	r, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, errNotNumber
	}
	n := new(big.Int).Lsh(r.Num(), shift)
	n, rest := n.QuoRem(n, r.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		n.Add(n, big.NewInt(1))
	}
	if !n.IsUint64() {
		return 0, errors.New("it is more than 2^64 bytes")
	}
	return n.Uint64(), nil
}

// maxDigits bounds the work that a value can cause: 2^64 has 20 digits.
const maxDigits = 64

// checkDecimal returns an error unless s has only digits, not more than maxDigits of them,
// with at most one decimal point.
func checkDecimal(s string) error {
	if len(s) > maxDigits {
		return errors.New("it has more than " + strconv.Itoa(maxDigits) + " digits")
	}
	if strings.Trim(s, ".") == "" || strings.Count(s, ".") > 1 || strings.Trim(s, "0123456789.") != "" {
		return errNotNumber
	}
	return nil
}

// parseDecimal reads a number of digits with at most one point.
func parseDecimal(s string) (float64, error) {
	if err := checkDecimal(s); err != nil {
		return 0, err
	}
	return strconv.ParseFloat(s, 64)
}

// FormatSize writes n bytes with the largest suffix that divides it. ParseSize reads the text as n.
func FormatSize(n uint64) string {
	suffix := 0
	for n != 0 && n%1024 == 0 && suffix < 4 {
		n /= 1024
		suffix++
	}
	return strconv.FormatUint(n, 10) + [...]string{"", "k", "m", "g", "t"}[suffix]
}
