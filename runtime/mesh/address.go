package mesh

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"
	"fmt"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// A blob begins with its kind and the version of the library, by which alone it may be read, and
// ends with a proof of the secret over all of it. Between them are the members of one of the structs
// below. All members are in the byte order of x86 and ARM.
const (
	addressKind = "shmem mesh member\n"
	regionKind  = "shmem mesh region\n"
)

// addressBlob is what a member (a process of the mesh) has to know of another member in order to
// connect to it.
type addressBlob struct {
	Member   uint32 // the member's number
	Most     uint32 // Options.Most, the same for all members
	Window   uint32 // proxy.Endpoint.Window
	GPU      uint32 // 1: the member has a GPU stage, which puts from GPU memory need at their target
	Instance uint64 // of the member: another process with its number has another one
	Provider string
	Addr     string // of its endpoint
}

// regionBlob describes a region to those who may import it.
type regionBlob struct {
	Member   uint32
	Instance uint64 // of the member
	ID       regionID
	Len      uint64
}

// writer makes a blob, reader reads one. After an error a reader returns zeros.
type writer struct{ b []byte }

type reader struct {
	b   []byte
	bad bool
}

func (w *writer) number(v uint64)  { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) text(s string)    { w.number(uint64(len(s))); w.b = append(w.b, s...) }
func (r *reader) small() uint32    { return uint32(r.number()) }
func (r *reader) id() (i regionID) { return regionID{r.small(), r.small()} }

func (r *reader) number() uint64 {
	if r.bad = r.bad || len(r.b) < 8; r.bad {
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) text() string {
	n := r.number()
	if r.bad = r.bad || uint64(len(r.b)) < n; r.bad {
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// seal returns a blob of a kind.
func (m *Mesh) seal(kind string, fill func(w *writer)) []byte {
	w := writer{[]byte(kind)}
	w.text(libshmem.Version)
	fill(&w)
	return append(w.b, m.proof(w.b)...)
}

// proofSize is the bytes of the proof at the end of a blob.
const proofSize = 16

// proof returns what shows that the maker of a blob knows the secret.
func (m *Mesh) proof(blob []byte) []byte {
	h := hmac.New(newHash, m.blobKey[:])
	h.Write(blob)
	return h.Sum(nil)[:proofSize]
}

// unseal checks a blob, and returns a reader of its members.
func (m *Mesh) unseal(kind string, blob []byte) (*reader, error) {
	name := map[string]string{addressKind: "a member's address", regionKind: "a region's description"}
	rest, is := bytes.CutPrefix(blob, []byte(kind))
	if !is {
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

// whole returns an error if a blob has had too few members or has some left.
func (r *reader) whole() error {
	if r.bad || len(r.b) > 0 {
		return shmerr.Causef(shmerr.ErrArgument, "the blob has %d bytes too many, or too few", len(r.b))
	}
	return nil
}

// Address returns the blob with which other members add this one.
func (m *Mesh) Address() []byte { return m.address }

// sealAddress makes the blob of Address.
func (m *Mesh) sealAddress(b *addressBlob) []byte {
	return m.seal(addressKind, func(w *writer) {
		w.number(uint64(b.Member))
		w.number(uint64(b.Most))
		w.number(uint64(b.Window))
		w.number(uint64(b.GPU))
		w.number(b.Instance)
		w.text(b.Provider)
		w.text(b.Addr)
	})
}

// readAddress reads the blob of another member.
func (m *Mesh) readAddress(blob []byte) (b addressBlob, err error) {
	r, err := m.unseal(addressKind, blob)
	if err != nil {
		return b, err
	}
	b = addressBlob{Member: r.small(), Most: r.small(), Window: r.small(), GPU: r.small(), Instance: r.number(), Provider: r.text(), Addr: r.text()}
	if err := r.whole(); err != nil {
		return b, err
	}
	switch {
	case int(b.Most) != m.most:
		err = shmerr.Causef(shmerr.ErrArgument, "it was opened for %d members, and this one for %d (open all for the same number)", b.Most, m.most)
	case int(b.Member) >= m.most:
		err = shmerr.Causef(shmerr.ErrPE, "its number %d is not below %d", b.Member, m.most)
	case b.Provider != m.e.Caps().Provider:
		err = shmerr.Causef(shmerr.ErrArgument, "it uses provider %s, and this one %s (open all with the same provider)", b.Provider, m.e.Caps().Provider)
	}
	return b, err
}

// sealRegion makes the blob of a region.
func (m *Mesh) sealRegion(b *regionBlob) []byte {
	return m.seal(regionKind, func(w *writer) {
		w.number(uint64(b.Member))
		w.number(b.Instance)
		w.number(uint64(b.ID.Number))
		w.number(uint64(b.ID.Use))
		w.number(b.Len)
	})
}

// readRegion reads the blob of a region.
func (m *Mesh) readRegion(blob []byte) (b regionBlob, err error) {
	r, err := m.unseal(regionKind, blob)
	if err != nil {
		return b, err
	}
	b = regionBlob{Member: r.small(), Instance: r.number(), ID: r.id(), Len: r.number()}
	return b, r.whole()
}

// String names a region in texts.
func (b *regionBlob) String() string {
	return fmt.Sprintf("region %d of member %d", b.ID.Number, b.Member)
}
