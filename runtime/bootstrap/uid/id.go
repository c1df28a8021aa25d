package uid

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/netip"

	"libshmem/runtime/bootstrap/secret"
)

// Len is the size of an id in bytes.
const Len = 128

// ID is the unique id in the form that programs pass on, a shmemx_uniqueid_t:
//
//	  0  version    4  of the struct in C, in the order of the machine
//	  4  magic      4  "SHMU"
//	  8  format     1  1, or 2 for one of a session
//	  9  addresses  1  how many
//	 10  port       2  big endian, the same at each address
//	 12  secret    32
//	 44  addresses 80  each: 4 and 4 bytes, or 6 and 16 bytes; then zeros
//	124  checksum   4  CRC-32 (IEEE) of the bytes 4 to 123, big endian
type ID [Len]byte

// StructVersion is the first word of C's struct: the first version of the struct, and its size.
const StructVersion = 1<<16 + Len

const (
	magic = "SHMU"

	ofRoot    = 1 // the root listens since the id was made
	ofSession = 2 // the root starts when PE 0 joins

	atFormat    = 8
	atCount     = 9
	atPort      = 10
	atSecret    = 12
	atAddresses = 44
	atSum       = 124
)

// contents is the decoded id.
type contents struct {
	session   bool
	secret    secret.Secret
	addresses []netip.AddrPort // in the order in which to try them
}

// IsID reports whether bytes are an id, or the first half of one at least, of any version of the
// library.
func IsID(b []byte) bool {
	return len(b) >= Len/2 && len(b) <= Len && string(b[4:8]) == magic
}

// encode makes an id with a secret, a port and as many of the addresses as have room in it. A
// checksum detects changes by programs that pass the id on.
func encode(format byte, s secret.Secret, port uint16, addresses []netip.Addr) (id ID) {
	binary.NativeEndian.PutUint32(id[:], StructVersion)
	copy(id[4:], magic)
	id[atFormat] = format
	binary.BigEndian.PutUint16(id[atPort:], port)
	copy(id[atSecret:], s[:])
	rest := id[atAddresses:atSum]
	for _, a := range addresses {
		raw, kind := a.AsSlice(), byte(4)
		if a.Is6() {
			kind = 6
		}
		if len(raw)+1 > len(rest) {
			continue
		}
		rest[0] = kind
		copy(rest[1:], raw)
		rest = rest[1+len(raw):]
		id[atCount]++
	}
	binary.BigEndian.PutUint32(id[atSum:], crc32.ChecksumIEEE(id[4:atSum]))
	return id
}

// decode reads an id. An error names the offset of the byte that is wrong, and says why it is.
func decode(id *ID) (c contents, err error) {
	wrong := func(at int, format string, args ...any) (contents, error) {
		return contents{}, fmt.Errorf("unique id, byte %d: %s (pass on all %d bytes of one that shmemx_get_uniqueid has filled)",
			at, fmt.Sprintf(format, args...), Len)
	}
	if v := binary.NativeEndian.Uint32(id[:]); v != StructVersion {
		if *id == (ID{}) {
			return wrong(0, "it is empty")
		}
		return wrong(0, "version %#x, expected %#x", v, StructVersion)
	}
	if [Len - 4]byte(id[4:]) == ([Len - 4]byte{}) {
		return wrong(4, "it was not filled")
	}
	if m := string(id[4:8]); m != magic {
		return wrong(4, "%q, expected %q: the id comes from another library", m, magic)
	}
	if f := id[atFormat]; f != ofRoot && f != ofSession {
		return wrong(atFormat, "format %d, expected %d or %d: it comes from another version of the library", f, ofRoot, ofSession)
	}
	c.session = id[atFormat] == ofSession
	if got, want := binary.BigEndian.Uint32(id[atSum:]), crc32.ChecksumIEEE(id[4:atSum]); got != want {
		return wrong(atSum, "checksum %#08x, expected %#08x: it was changed on the way", got, want)
	}
	port := binary.BigEndian.Uint16(id[atPort:])
	if port == 0 {
		return wrong(atPort, "port 0, expected 1 to 65535")
	}
	copy(c.secret[:], id[atSecret:])
	rest := id[atAddresses:atSum]
	for i := range id[atCount] {
		at := atSum - len(rest)
		n := 0
		if len(rest) > 0 {
			n = map[byte]int{4: 4, 6: 16}[rest[0]]
		}
		if n == 0 || n >= len(rest) {
			return wrong(at, "address %d of %d is neither IPv4 (4) nor IPv6 (6), or has no room", i+1, id[atCount])
		}
		a, _ := netip.AddrFromSlice(rest[1 : 1+n])
		c.addresses = append(c.addresses, netip.AddrPortFrom(a, port))
		rest = rest[1+n:]
	}
	if len(c.addresses) == 0 {
		return wrong(atCount, "no addresses, expected at least one")
	}
	return c, nil
}
