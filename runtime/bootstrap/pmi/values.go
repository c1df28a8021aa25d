package pmi

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"libshmem"
)

// A PE's part for the others is text in base64, cut into values. The first value begins with their
// number and a dot.

var text = base64.RawURLEncoding

// maxValues bounds the number of values that one PE may announce: 700 MB.
const maxValues = 1 << 20

func (s *session) key(step int, pe libshmem.PE, part int) string {
	return fmt.Sprintf("shmem-%d-%d-%d", step, pe, part)
}

func (s *session) put(key, value string) string {
	return command("put", "kvsname", s.kvs, "key", key, "value", value)
}

// cut makes values of at most room bytes.
func cut(mine []byte, room int) []string {
	t := text.EncodeToString(mine)
	// The number of values has as many digits as fits each length of it.
	digits := 1
	for ; ; digits++ {
		n := max(1, (len(t)+digits+1+room-1)/room)
		if len(strconv.Itoa(n)) <= digits {
			t = fmt.Sprintf("%0*d.%s", digits, n, t)
			break
		}
	}
	var values []string
	for part := range slices.Chunk([]byte(t), room) {
		values = append(values, string(part))
	}
	return values
}

// paste puts the values together again. next returns the one with a number.
func paste(next func(part int) (string, error)) ([]byte, error) {
	first, err := next(0)
	if err != nil {
		return nil, err
	}
	count, rest, ok := strings.Cut(first, ".")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > maxValues {
		return nil, fmt.Errorf("%w: value %s does not begin with the number of values", errFormat, show(first))
	}
	var all strings.Builder
	all.WriteString(rest)
	for part := 1; part < n; part++ {
		v, err := next(part)
		if err != nil {
			return nil, err
		}
		all.WriteString(v)
	}
	b, err := text.DecodeString(all.String())
	if err != nil {
		return nil, fmt.Errorf("%w: values that are no base64: %w", errFormat, err)
	}
	return b, nil
}

func (s *session) allgather(mine []byte, timeout time.Duration) ([][]byte, error) {
	values := cut(mine, s.room)
	if len(values) > maxValues {
		return nil, fmt.Errorf("%d bytes from one PE are too many", len(mine))
	}
	end := deadline(timeout)
	for part, v := range values {
		if _, err := s.ask(end, "put_result", s.put(s.key(s.steps.N, s.rank, part), v)); err != nil {
			return nil, err
		}
	}
	if err := s.barrier(timeout); err != nil {
		return nil, err
	}
	all := make([][]byte, s.size)
	end = deadline(timeout)
	for pe := range libshmem.PE(s.size) {
		if pe == s.rank {
			all[pe] = slices.Clone(mine)
			continue
		}
		var err error
		all[pe], err = paste(func(part int) (string, error) {
			r, err := s.ask(end, "get_result", command("get", "kvsname", s.kvs, "key", s.key(s.steps.N, pe, part)))
			return r.fields["value"], err
		})
		if err != nil {
			return nil, fmt.Errorf("the values of PE %d: %w", pe, err)
		}
	}
	return all, nil
}
