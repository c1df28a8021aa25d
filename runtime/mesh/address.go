package mesh

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"
	"fmt"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// A blob is bytes that the program carries from one member of the mesh to another. It begins with
// its kind and the version of the library, which has to be the reader's version, and ends with a
// proof of the secret over all bytes before. Between them are the fields of one of the structs
// below. Numbers are little-endian.
const (
	addressKind = "shmem mesh member\n"
	regionKind  = "shmem mesh region\n"
)

// addressBlob is what a member (a process of the mesh) has to know of another member in order to
// connect to it.
type addressBlob struct {
	Member   uint32 // the member's number
	Members  uint32 // Options.Members, which must be the same for all members
	Window   uint32 // proxy.Endpoint.Window
	GPU      uint32 // 1: the member has a GPU stage, which puts from GPU memory need at their target
	Instance uint64 // a random number, by which two processes with the same Member differ
	Provider string
	Addr     string // of its endpoint
}

// regionBlob describes a region to members that may import it.
type regionBlob struct {
	Member   uint32
	Instance uint64 // of the member
	ID       regionID
	Len      uint64
}

// writer appends the fields of a blob to b.
type writer struct{ b []byte }

// reader reads the fields of a blob from b. If a field needs more bytes than are left, reader sets
// bad, and returns zeros from then on; checkEnd returns the error.
type reader struct {
	b   []byte
	bad bool
}

// number appends a number of 8 bytes.
func (w *writer) number(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }

// text appends a text after its length.
func (w *writer) text(s string) { w.number(uint64(len(s))); w.b = append(w.b, s...) }

// small reads a number of 8 bytes whose value fits 32 bits.
func (r *reader) small() uint32 { return uint32(r.number()) }

// id reads the two numbers that name a region.
func (r *reader) id() (i regionID) { return regionID{r.small(), r.small()} }

// number reads a number of 8 bytes.
func (r *reader) number() uint64 {
	if r.bad = r.bad || len(r.b) < 8; r.bad {
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

// text reads the length of a text in bytes, and the text.
func (r *reader) text() string {
	n := r.number()
	if r.bad = r.bad || uint64(len(r.b)) < n; r.bad {
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// seal returns a blob of a kind, with the fields that fill writes and the proof.
func (m *Mesh) seal(kind string, fill func(w *writer)) []byte {
	w := writer{[]byte(kind)}
	w.text(libshmem.Version)
	fill(&w)
	return append(w.b, m.proof(w.b)...)
}

// proofSize is the bytes of the proof at the end of a blob.
const proofSize = 16

// proof returns the first proofSize bytes of the HMAC of a blob with the key of the mesh's secret:
// only a process that knows the secret can make them.
func (m *Mesh) proof(blob []byte) []byte {
	h := hmac.New(newHash, m.blobKey[:])
	h.Write(blob)
	return h.Sum(nil)[:proofSize]
}

// unseal checks a blob's kind, version and proof, and returns a reader of its fields.
func (m *Mesh) unseal(kind string, blob []byte) (*reader, error) {
	name := map[string]string{addressKind: "a member's address", regionKind: "a region's description"}
	rest, ok := bytes.CutPrefix(blob, []byte(kind))
	if !ok {
		for other, text := range name {
			if bytes.HasPrefix(blob, []byte(other)) {
				return nil, shmerr.Causef(shmerr.ErrArgument, "the blob is %s, and not %s", text, name[kind])
			}
		}
		return nil, shmerr.Causef(shmerr.ErrArgument, "the blob is not %s", name[kind])
	}
	r := &reader{b: rest}
	switch version := r.text(); {
	case r.bad || len(r.b) < proofSize:
		return nil, shmerr.Causef(shmerr.ErrArgument, "the blob is cut off after %d bytes", len(blob))
	case version != libshmem.Version:
		return nil, shmerr.Causef(shmerr.ErrVersion, "the blob is of version %.40q and this member of %s (install one version everywhere)", version, libshmem.Version)
	}
	proof := r.b[len(r.b)-proofSize:]
	r.b = r.b[:len(r.b)-proofSize]
	if !hmac.Equal(proof, m.proof(blob[:len(blob)-proofSize])) {
		return nil, shmerr.Causef(shmerr.ErrArgument, "the blob was made with another secret, or has changed on its way (give all members one secret)")
	}
	return r, nil
}

// checkEnd returns an error if the blob had fewer bytes than its fields need, or has some left.
func (r *reader) checkEnd() error {
	if r.bad || len(r.b) > 0 {
		return shmerr.Causef(shmerr.ErrArgument, "the blob has %d bytes too many, or too few", len(r.b))
	}
	return nil
}

// Address returns the blob with which other members add this one.
func (m *Mesh) Address() []byte { return m.address }

// sealAddress encodes b as the blob that Address returns.
func (m *Mesh) sealAddress(b *addressBlob) []byte {
	return m.seal(addressKind, func(w *writer) {
		w.number(uint64(b.Member))
		w.number(uint64(b.Members))
		w.number(uint64(b.Window))
		w.number(uint64(b.GPU))
		w.number(b.Instance)
		w.text(b.Provider)
		w.text(b.Addr)
	})
}

// readAddress reads the blob of another member's Address, and checks that this member can work with
// it: both were opened for the same number of members, with the same provider.
func (m *Mesh) readAddress(blob []byte) (b addressBlob, err error) {
	r, err := m.unseal(addressKind, blob)
	if err != nil {
		return b, err
	}
	b = addressBlob{Member: r.small(), Members: r.small(), Window: r.small(), GPU: r.small(), Instance: r.number(), Provider: r.text(), Addr: r.text()}
	if err := r.checkEnd(); err != nil {
		return b, err
	}
	switch {
	case int(b.Members) != m.maxMembers:
		err = shmerr.Causef(shmerr.ErrArgument, "it was opened for %d members, and this one for %d (open all for the same number)", b.Members, m.maxMembers)
	case int(b.Member) >= m.maxMembers:
		err = shmerr.Causef(shmerr.ErrPE, "its number %d is not below %d", b.Member, m.maxMembers)
	case b.Provider != m.e.Caps().Provider:
		err = shmerr.Causef(shmerr.ErrArgument, "it uses provider %s, and this one %s (open all with the same provider)", b.Provider, m.e.Caps().Provider)
	}
	return b, err
}

// sealRegion encodes b as the blob that Region.Describe returns.
func (m *Mesh) sealRegion(b *regionBlob) []byte {
	return m.seal(regionKind, func(w *writer) {
		w.number(uint64(b.Member))
		w.number(b.Instance)
		w.number(uint64(b.ID.Number))
		w.number(uint64(b.ID.Use))
		w.number(b.Len)
	})
}

// readRegion reads the blob of another member's Region.Describe.
func (m *Mesh) readRegion(blob []byte) (b regionBlob, err error) {
	r, err := m.unseal(regionKind, blob)
	if err != nil {
		return b, err
	}
	b = regionBlob{Member: r.small(), Instance: r.number(), ID: r.id(), Len: r.number()}
	return b, r.checkEnd()
}

// String names a region in texts.
func (b *regionBlob) String() string {
	return fmt.Sprintf("region %d of member %d", b.ID.Number, b.Member)
}
