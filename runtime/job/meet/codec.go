package meet

// The encoding of the values that PEs exchange when they meet. It knows neither their meaning nor
// how the bytes travel. It keeps no state, and any goroutine may use it.
//
// Each PE of a job of 100,000 reads the peer info of all others. As JSON the peer info of one PE
// took 453 bytes, and 5 KB of memory and 20 us to read; in this form it takes 225 bytes, 1 KB and
// 2 us (TestBootstrapScale). Peer info is encoded as its fields in order: numbers as varints,
// strings and slices with their length in front. There are no names: PEs of another version are
// recognised by the first field of the first peer info, or because the bytes do not fit the type.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"libshmem"
)

// Encode encodes a struct of numbers, strings, slices and structs, for an exchange between PEs:
// fields in order, numbers of variable length.
func Encode(v any) ([]byte, error) {
	b, err := appendValue(nil, reflect.ValueOf(v))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b, nil
}

// appendValue appends the encoding of a value to b.
func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	var err error
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint()), nil
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...), nil
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for i := 0; i < v.Len() && err == nil; i++ {
			b, err = appendValue(b, v.Index(i))
		}
		return b, err
	case reflect.Array:
		for i := 0; i < v.Len() && err == nil; i++ {
			b, err = appendValue(b, v.Index(i))
		}
		return b, err
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			b, err = appendValue(b, v.Field(i))
		}
		return b, err
	}
	return nil, fmt.Errorf("peer info cannot contain a %v", v.Kind())
}

// DecodeAll decodes what all PEs have encoded with Encode, in order of PE. An error names the PE,
// which may have another version of the library.
func DecodeAll[T any](all [][]byte) ([]T, error) {
	infos := make([]T, len(all))
	d := decoder{known: map[string]string{}}
	for pe, b := range all {
		d.left = b
		err := d.value(reflect.ValueOf(&infos[pe]).Elem())
		if err == nil && len(d.left) > 0 {
			err = fmt.Errorf("%d bytes are left over", len(d.left))
		}
		if err != nil {
			return nil, fmt.Errorf("read the peer info of PE %d: %w (start every PE with version %s of the library)",
				pe, err, libshmem.Version)
		}
	}
	return infos, nil
}

// decoder decodes values from the front of bytes. PEs have most of their strings in common, and the
// decoder keeps one copy of each.
type decoder struct {
	left  []byte
	known map[string]string
}

var (
	errCut    = errors.New("it ends too early")
	errNumber = errors.New("a number is malformed")
)

// unsigned decodes an unsigned number.
func (d *decoder) unsigned() (uint64, error) {
	x, n := binary.Uvarint(d.left)
	if n <= 0 {
		return 0, errNumber
	}
	d.left = d.left[n:]
	return x, nil
}

// length decodes a count of elements that have at least `least` bytes each. It fails if fewer bytes
// are left, so that a wrong count allocates nothing.
func (d *decoder) length(least int) (int, error) {
	n, err := d.unsigned()
	if err == nil && n > uint64(len(d.left)/least) {
		err = errCut
	}
	return int(n), err
}

// value decodes into v, by the kind of v.
func (d *decoder) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		x, err := d.unsigned()
		if err != nil || x > 1 {
			return errNumber
		}
		v.SetBool(x == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x, n := binary.Varint(d.left)
		if n <= 0 || v.OverflowInt(x) {
			return errNumber
		}
		d.left = d.left[n:]
		v.SetInt(x)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x, err := d.unsigned()
		if err != nil || v.OverflowUint(x) {
			return errNumber
		}
		v.SetUint(x)
	case reflect.String:
		n, err := d.length(1)
		if err != nil {
			return err
		}
		v.SetString(d.string(n))
	case reflect.Slice:
		// The smallest encoding of any type is one byte.
		n, err := d.length(1)
		if err != nil || n == 0 {
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		return d.each(v)
	case reflect.Array:
		return d.each(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if err := d.value(v.Field(i)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("peer info cannot contain a %v", v.Kind())
	}
	return nil
}

// each decodes the elements of a slice or an array.
func (d *decoder) each(v reflect.Value) error {
	for i := range v.Len() {
		if err := d.value(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// string decodes a string of n bytes. If an earlier PE had the same string, it returns that copy:
// with thousands of PEs most strings, such as names of providers, are equal.
func (d *decoder) string(n int) string {
	b := d.left[:n]
	d.left = d.left[n:]
	s, ok := d.known[string(b)]
	if !ok {
		s = string(b)
		d.known[s] = s
	}
	return s
}
