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

// A PE's contribution to an allgather travels as base64 text, split into several values. The first
// value begins with the number of values and a dot.

// encoding is the encoding of contributions as text.
var encoding = base64.RawURLEncoding

// maxValues is the most values of one PE in an allgather: 700 MB.
const maxValues = 1 << 20

// key returns the key of one value of a PE in a step.
func (s *session) key(step int, pe libshmem.PE, part int) string {
	return fmt.Sprintf("shmem-%d-%d-%d", step, pe, part)
}

// put returns the line of the command that puts a value.
func (s *session) put(key, value string) string {
	return command("put", "kvsname", s.kvs, "key", key, "value", value)
}

// encodeValues encodes a contribution as values of at most room bytes each.
func encodeValues(mine []byte, room int) []string {
	t := encoding.EncodeToString(mine)
	// The digits of the number of values count in the length, on which that number depends: try
	// one digit, two digits, and so on.
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

// decodeValues decodes the contribution that encodeValues has encoded: base64, in several values
// because the launcher limits their length. next returns the value with an index; the first one
// begins with their number.
func decodeValues(next func(part int) (string, error)) ([]byte, error) {
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
	b, err := encoding.DecodeString(all.String())
	if err != nil {
		return nil, fmt.Errorf("%w: values that are not base64: %w", errFormat, err)
	}
	return b, nil
}

// allgather puts this PE's contribution into the key-value space, waits in a barrier, and gets the
// contributions of the others.
func (s *session) allgather(mine []byte, timeout time.Duration) ([][]byte, error) {
	values := encodeValues(mine, s.room)
	if len(values) > maxValues {
		return nil, fmt.Errorf("%d bytes from one PE are too many", len(mine))
	}
	end := deadline(timeout)
	for part, v := range values {
		if _, err := s.request(end, "put_result", s.put(s.key(s.steps.N, s.rank, part), v)); err != nil {
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
		all[pe], err = decodeValues(func(part int) (string, error) {
			r, err := s.request(end, "get_result", command("get", "kvsname", s.kvs, "key", s.key(s.steps.N, pe, part)))
			return r.fields["value"], err
		})
		if err != nil {
			return nil, fmt.Errorf("the values of PE %d: %w", pe, err)
		}
	}
	return all, nil
}
