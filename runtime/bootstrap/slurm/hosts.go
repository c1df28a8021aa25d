package slurm

import (
	"fmt"
	"strconv"
)

// maxHosts is the most hosts of a list.
const maxHosts = 1 << 16

// hosts reads a list of hosts as Slurm writes it: n[01-03,7],m[1-2]x. All numbers of a range have
// as many digits as its first. An error names the byte and the expected text.
func hosts(list string) ([]string, error) {
	r := reader{text: list}
	var all []string
	for {
		some, err := r.entry()
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(all) > maxHosts {
			return nil, r.wrong("at most %d hosts", maxHosts)
		}
		if r.at == len(list) {
			return all, nil
		}
		if !r.take(',') {
			return nil, r.wrong("a letter, a digit, \".\", \"-\", \"_\", \"[\", \",\" or the end")
		}
	}
}

// reader reads a list of hosts.
type reader struct {
	text string
	at   int // index of the next byte to read
}

// wrong returns the error for a byte of the list that does not fit; format describes what was
// expected there.
func (r *reader) wrong(format string, args ...any) error {
	found := "the end"
	if r.at < len(r.text) {
		found = strconv.Quote(r.text[r.at:min(r.at+1, len(r.text))])
	}
	text := r.text
	if len(text) > 80 {
		text = text[:80] + "..."
	}
	return fmt.Errorf("list of hosts %q, byte %d: %s, expected %s", text, r.at, found, fmt.Sprintf(format, args...))
}

// take skips the byte c if it is next, and reports whether it was.
func (r *reader) take(c byte) bool {
	if r.at == len(r.text) || r.text[r.at] != c {
		return false
	}
	r.at++
	return true
}

// while returns the next bytes that f accepts, and skips them.
func (r *reader) while(f func(c byte) bool) string {
	from := r.at
	for r.at < len(r.text) && f(r.text[r.at]) {
		r.at++
	}
	return r.text[from:r.at]
}

// isDigit reports whether a byte is a decimal digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// literal reports whether c may be part of a host's name outside brackets.
func literal(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '-' || c == '_'
}

// entry reads the text up to a comma: text and brackets in any order. It returns the names that the
// entry stands for; the last bracket varies fastest.
func (r *reader) entry() ([]string, error) {
	names := []string{r.while(literal)}
	from := r.at
	for r.take('[') {
		numbers, err := r.brackets(maxHosts / len(names))
		if err != nil {
			return nil, err
		}
		rest := r.while(literal)
		next := make([]string, 0, len(names)*len(numbers))
		for _, name := range names {
			for _, n := range numbers {
				next = append(next, name+n+rest)
			}
		}
		names = next
	}
	if r.at == from && names[0] == "" {
		return nil, r.wrong("the name of a host")
	}
	return names, nil
}

// brackets reads what follows "[": numbers and ranges. It returns all numbers, at most `limit` of
// them.
func (r *reader) brackets(limit int) (all []string, err error) {
	for {
		if all, err = r.numbers(all, limit); err != nil {
			return nil, err
		}
		if r.take(']') {
			return all, nil
		}
		if !r.take(',') {
			return nil, r.wrong("a digit, \",\" or \"]\"")
		}
	}
}

// numbers reads a number or a range, such as 03-10, and appends its numbers to all, with the
// leading zeros of the first one. More than limit numbers in all are an error.
func (r *reader) numbers(all []string, limit int) ([]string, error) {
	low, first, err := r.number()
	if err != nil {
		return nil, err
	}
	last := first
	if r.take('-') {
		at := r.at
		if _, last, err = r.number(); err != nil {
			return nil, err
		}
		if last < first {
			r.at = at
			return nil, r.wrong("a number not below %s", low)
		}
		if last-first >= limit-len(all) {
			r.at = at
			return nil, r.wrong("at most %d hosts", maxHosts)
		}
	}
	for n := first; n <= last; n++ {
		all = append(all, fmt.Sprintf("%0*d", len(low), n))
	}
	if len(all) > limit {
		return nil, r.wrong("at most %d hosts", maxHosts)
	}
	return all, nil
}

// number reads a number, and returns its digits, whose leading zeros are part of a host's name, and
// its value.
func (r *reader) number() (string, int, error) {
	at := r.at
	text := r.while(isDigit)
	if text == "" {
		return "", 0, r.wrong("a digit")
	}
	n, err := strconv.Atoi(text)
	if err != nil || len(text) > 18 {
		r.at = at
		return "", 0, r.wrong("a number of at most 18 digits")
	}
	return text, n, nil
}
