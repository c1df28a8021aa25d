package faults

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Word is a word that a text of faults may have, such as reorder in reorder=0.5, and the variable
// for its value. Shares are from 0 to 1, times as Go writes them, speeds in bits a second with the
// suffix k, M or G.
type Word struct {
	Name string
	To   any // *float64, *time.Duration, *int, *uint64, *bool, or a function that reads the value
}

// Read reads words with values, NAME=VALUE separated by commas, and stores each value where the
// element of words says.
func Read(text string, words []Word) error {
	for _, word := range strings.Split(text, ",") {
		if word == "" {
			continue
		}
		name, value, valued := strings.Cut(word, "=")
		w, err := find(name, words)
		if err == nil && !valued {
			return fmt.Errorf("%q has no value (write it as %s=VALUE)", word, word)
		}
		if err == nil {
			err = w.read(value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	return nil
}

// find returns the element of words that has this name, or an error that lists the names there are.
func find(name string, words []Word) (Word, error) {
	var names []string
	for _, w := range words {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Word{}, fmt.Errorf("there is no such word (there are %s)", strings.Join(names, ", "))
}

// read parses text as the value of the word and stores it.
func (w Word) read(text string) (err error) {
	switch to := w.To.(type) {
	case func(string) error:
		return to(text)
	case *float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1) { // also refuses NaN
			return fmt.Errorf("%q is not a share from 0 to 1", text)
		}
		*to = v
	case *time.Duration:
		*to, err = readTime(text)
	case *bool:
		if text != "0" && text != "1" {
			return fmt.Errorf("%q is neither 0 nor 1", text)
		}
		*to = text == "1"
	case *int:
		*to, err = readNumber(text)
	case *uint64:
		digits, scale := text, uint64(1)
		if i := strings.IndexAny(text, "kMG"); i >= 0 && i == len(text)-1 {
			digits, scale = text[:i], map[byte]uint64{'k': 1e3, 'M': 1e6, 'G': 1e9}[text[i]]
		}
		v, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a speed (write 200G, 100M or a number below 2^32)", text)
		}
		*to = v * scale
	}
	return err
}

// Value returns the word's value as text that Read reads; "" for a word whose value a function
// reads.
func (w Word) Value() string {
	switch v := w.To.(type) {
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *time.Duration:
		return v.String()
	case *uint64:
		if *v%1e9 == 0 && *v > 0 {
			return strconv.FormatUint(*v/1e9, 10) + "G"
		}
		return strconv.FormatUint(*v, 10)
	case *int:
		return strconv.Itoa(*v)
	case *bool:
		if *v {
			return "1"
		}
		return "0"
	}
	return ""
}

// readNumber parses the index of a host or of a NIC.
func readNumber(text string) (int, error) {
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 || v > math.MaxInt32 {
		return 0, fmt.Errorf("%q is not a number from 0 to %d", text, math.MaxInt32)
	}
	return v, nil
}

// readTime reads a time that is not negative.
func readTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time (write 20us or 5ms)", text)
	}
	return d, nil
}

// Peer returns a function that reads HOST[@TIME], the loss of a host, and adds it to list.
func Peer(list *[]Fault) func(string) error {
	return func(text string) error { return readFault(list, Fault{NIC: -1}, text) }
}

// NIC returns a function that reads HOST/NIC[@TIME], the loss or the return of a NIC, and adds it
// to list.
func NIC(list *[]Fault, up bool) func(string) error {
	return func(text string) error { return readFault(list, Fault{Up: up}, text) }
}

// readFault reads the host and the time of a fault, HOST[@TIME], or HOST/NIC[@TIME] if f.NIC is not
// negative, completes f with them and adds f to list.
func readFault(list *[]Fault, f Fault, text string) (err error) {
	host, at, timed := strings.Cut(text, "@")
	if timed {
		if f.At, err = readTime(at); err != nil {
			return err
		}
	}
	if f.NIC >= 0 {
		var nic string
		host, nic, _ = strings.Cut(host, "/")
		if f.NIC, err = readNumber(nic); err != nil {
			return fmt.Errorf("NIC: %w", err)
		}
	}
	if f.Host, err = readNumber(host); err != nil {
		return fmt.Errorf("host: %w", err)
	}
	*list = append(*list, f)
	return nil
}
