package tracefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// object iterates over the members of a JSON object.
type object struct {
	b []byte // the text from its first brace to its last one
	i int    // index of the next byte to read
}

var errJSON = errors.New("it is not JSON")

// space skips white space.
func (o *object) space() {
	for o.i < len(o.b) && (o.b[o.i] == ' ' || o.b[o.i] == '\n' || o.b[o.i] == '\t' || o.b[o.i] == '\r') {
		o.i++
	}
}

// next returns the key, in its quotes, and the raw value of the next member of the object, or a nil
// key at the end. first: no member was returned yet.
func (o *object) next(first bool) (key, value []byte, err error) {
	o.space()
	if o.i >= len(o.b) {
		return nil, nil, errJSON
	}
	switch {
	case first && o.b[o.i] == '{':
		o.i++
		o.space()
		if o.i < len(o.b) && o.b[o.i] == '}' {
			o.i++
			return nil, nil, nil
		}
	case !first && o.b[o.i] == '}':
		o.i++
		return nil, nil, nil
	case !first && o.b[o.i] == ',':
		o.i++
		o.space()
	default:
		return nil, nil, errJSON
	}
	if key, err = o.text(); err != nil {
		return nil, nil, err
	}
	o.space()
	if o.i >= len(o.b) || o.b[o.i] != ':' {
		return nil, nil, errJSON
	}
	o.i++
	o.space()
	value, err = o.value()
	return key, value, err
}

// text returns the string that begins here, with its quotes, or an error if it is not valid.
func (o *object) text() ([]byte, error) {
	if o.i >= len(o.b) || o.b[o.i] != '"' {
		return nil, errJSON
	}
	from, escaped := o.i, false
	for o.i++; o.i < len(o.b); o.i++ {
		switch c := o.b[o.i]; {
		case c == '\\':
			escaped = true
			o.i++
		case c < ' ':
			return nil, errJSON
		case c == '"':
			o.i++
			if t := o.b[from:o.i]; !escaped || json.Valid(t) {
				return t, nil
			}
			return nil, errJSON
		}
	}
	return nil, errJSON
}

// value returns the text of the value that begins here, up to the end of it, or an error if it is
// not JSON. Strings and whole numbers, which most values are, are checked without package json,
// which takes longer.
func (o *object) value() ([]byte, error) {
	if o.i >= len(o.b) {
		return nil, errJSON
	}
	if o.b[o.i] == '"' {
		return o.text()
	}
	from, depth, quoted, plain := o.i, 0, false, true
	for ; o.i < len(o.b); o.i++ {
		c := o.b[o.i]
		switch {
		case quoted && c == '\\':
			o.i++
		case c == '"':
			quoted, plain = !quoted, false
		case quoted:
		case c == '{' || c == '[':
			depth++
			plain = false
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == '}' || c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			return checkJSON(o.b[from:o.i], plain)
		case c < '0' || c > '9':
			plain = false
		}
	}
	return nil, errJSON
}

// checkJSON returns v, or an error if v is not a JSON value. digits: v has only digits, so that
// only a leading 0 can be wrong.
func checkJSON(v []byte, digits bool) ([]byte, error) {
	if digits && (len(v) == 1 || len(v) > 1 && v[0] != '0') || isDecimal(v) || json.Valid(v) {
		return v, nil
	}
	return nil, errJSON
}

// isDecimal reports whether v is a number with a decimal point, as most times are. json.Valid takes
// longer.
func isDecimal(v []byte) bool {
	point := bytes.IndexByte(v, '.')
	if point < 1 || point == len(v)-1 || v[0] == '0' && point > 1 {
		return false
	}
	for i, c := range v {
		if i != point && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// unquoted returns the content of a JSON string, without its quotes and escapes. Without escapes it
// is a part of t, and not a copy.
func unquoted(t []byte) []byte {
	for _, c := range t {
		if c == '\\' || c >= 0x80 {
			var s string
			if json.Unmarshal(t, &s) == nil {
				return []byte(s)
			}
			break
		}
	}
	return t[1 : len(t)-1]
}

// parseInteger returns a whole number, and reports whether v is one.
func parseInteger(v []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

// parseMicros reads a number of microseconds as nanoseconds, exactly, if it has at most three
// decimals. A floating-point number would lose the nanoseconds of times since 1970.
func parseMicros(v []byte) (int64, error) {
	const most = math.MaxInt64 / 4 / 1000
	var n int64
	i, minus := 0, false
	if len(v) > 0 && v[0] == '-' {
		minus, i = true, 1
	}
	for ; i < len(v) && '0' <= v[i] && v[i] <= '9' && n < most; i++ {
		n = n*10 + int64(v[i]-'0')
	}
	if n >= most {
		return 0, fmt.Errorf("%s is not a time in microseconds", quoteStart(v))
	}
	scale := int64(1000)
	if i < len(v) && v[i] == '.' {
		for i++; i < len(v) && '0' <= v[i] && v[i] <= '9'; i++ {
			if scale > 1 {
				scale /= 10
				n = n*10 + int64(v[i]-'0')
			}
		}
	}
	if i < len(v) { // the number has an exponent, or is too large
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || math.Abs(f) >= most {
			return 0, fmt.Errorf("%s is not a time in microseconds", quoteStart(v))
		}
		return int64(math.Round(f * 1000)), nil
	}
	if minus {
		n = -n
	}
	return n * scale, nil
}

// quoteStart returns a value in quotes, for an error; of a long value only the beginning.
func quoteStart(v []byte) string {
	if len(v) > 40 {
		return strconv.Quote(string(v[:40])) + "..."
	}
	return strconv.Quote(string(v))
}
