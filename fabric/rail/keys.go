package rail

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

const (
	// maxRows caps the regions that are registered at a time; each has a row of keys.
	maxRows = 4096
	// rowsInAddress caps the rows that travel with the address.
	rowsInAddress = 4
	// maxFetches caps the rows of peers that are being read at a time.
	maxFetches = 16
)

// row has the key by which peers name a region of several NICs, and the region's key at each NIC.
type row struct {
	key  uint64
	keys []uint64
}

// remoteAddr names remote memory: an address or an offset, and a key.
type remoteAddr struct{ at, key uint64 }

// rowOf returns the number of the row of a key in the table of its PE: the key's low bits. The bits
// above are random, so that an invented key, or the key of an unregistered region, is not valid.
func rowOf(key uint64) int { return int(key % maxRows) }

// table has the registered regions of this endpoint and a row of keys for each. The rows are in
// memory that peers read with one-sided Reads.
type table struct {
	p          *Provider
	mem        memory
	regions    []region
	memRegions []fabric.Region // registrations of mem, by NIC
}

// region is memory that is registered with every NIC. nics is nil in a free entry of the table.
type region struct {
	key  uint64
	nics []fabric.Region
}

// rowBytes returns the size of a row of this endpoint's table: the key of the row, and a key for
// each NIC.
func (p *Provider) rowBytes() int { return 8 * (1 + len(p.nics)) }

// copyAt returns the offset of the copy of injected operation i in the table's memory. That memory
// has the rows, then maxFetches buffers for rows of peers, then the copies.
func (p *Provider) copyAt(i int) int {
	return maxRows*p.rowBytes() + maxFetches*8*(1+maxNICs) + i*maxCopied
}

// fetchAt returns the offset of the buffer into which fetch i reads a peer's row.
func (p *Provider) fetchAt(i int) int { return maxRows*p.rowBytes() + i*8*(1+maxNICs) }

// openTable maps the memory of the table of keys and registers it with every NIC. Each region has a
// key for each NIC, and peers read them from this table.
func (p *Provider) openTable() (*table, error) {
	t := &table{p: p}
	var err error
	if t.mem, err = mapMemory(p.copyAt(maxCopies)); err != nil {
		return nil, err
	}
	for _, n := range p.nics {
		r, err := n.Register(t.mem.at(0), uint64(len(t.mem)))
		if err != nil {
			return nil, fmt.Errorf("register the table of keys with NIC %s: %w", n.name, err)
		}
		t.memRegions = append(t.memRegions, r)
	}
	return t, nil
}

// close unmaps the table's memory. The NICs must be closed before.
func (t *table) close() error { return t.mem.unmap() }

// remote returns the address of the table's memory for one-sided operations of peers: a virtual
// address, or an offset into its region.
func (t *table) remote() uint64 {
	if t.p.caps.VirtualAddress {
		return uint64(uintptr(t.mem.at(0)))
	}
	return 0
}

// region returns the registration of the table's memory with NIC l.
func (t *table) region(l int) *fabric.Region { return &t.memRegions[l] }

// desc translates a local descriptor of a Region of this Provider, the number of its row plus 1, to
// that of NIC l. It returns 0, no descriptor, if there is no such region.
func (t *table) desc(of uintptr, l int) uintptr {
	if of == 0 || int(of) > len(t.regions) || t.regions[of-1].nics == nil {
		return 0
	}
	return t.regions[of-1].nics[l].Desc
}

// Register implements fabric.Provider: it registers main memory.
func (p *Provider) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	return p.table.add(func(i *nic) (fabric.Region, error) { return i.Provider.Register(base, n) })
}

// RegisterGPU implements fabric.Provider: it registers memory of a GPU.
func (p *Provider) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	return p.table.add(func(i *nic) (fabric.Region, error) { return i.Provider.RegisterGPU(m) })
}

// add registers memory with every NIC, or with none, and fills a row of the table with its keys.
func (t *table) add(register func(*nic) (fabric.Region, error)) (fabric.Region, error) {
	id := 0
	for id < len(t.regions) && t.regions[id].nics != nil {
		id++
	}
	if id == maxRows {
		return fabric.Region{}, &shmerr.Error{Op: "register", Object: t.p.caps.Provider, Cause: shmerr.Causef(shmerr.ErrNoMemory, "%d regions are registered with %d NICs already", maxRows, len(t.p.nics))}
	}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return fabric.Region{}, &shmerr.Error{Op: "register", Object: t.p.caps.Provider, Cause: err}
	}
	key := binary.LittleEndian.Uint64(random[:])&^(maxRows-1) | uint64(id)
	if key < maxRows {
		key += 1 << 32 // no row has a key of 0
	}
	var all []fabric.Region
	for _, n := range t.p.nics {
		r, err := register(n)
		if err != nil {
			for l, done := range all {
				_ = t.p.nics[l].Provider.Unregister(done) // the first error says why
			}
			return fabric.Region{}, fmt.Errorf("NIC %s: %w", n.name, err)
		}
		all = append(all, r)
	}
	if id == len(t.regions) {
		t.regions = append(t.regions, region{})
	}
	t.regions[id] = region{key, all}
	at := t.mem.words(id*t.p.rowBytes(), 1+len(all))
	for l := range all {
		at[1+l] = all[l].Key
	}
	at[0] = key
	r := all[0]
	r.Key, r.ID, r.Desc = key, id, uintptr(id+1)
	return r, nil
}

// Unregister implements fabric.Provider. It clears the region's row in the table from which peers
// read keys, and unregisters the memory with every NIC.
func (p *Provider) Unregister(r fabric.Region) error {
	t := p.table
	if r.ID < 0 || r.ID >= len(t.regions) || t.regions[r.ID].nics == nil || t.regions[r.ID].key != r.Key {
		return &shmerr.Error{Op: "unregister", Object: fmt.Sprintf("region %d", r.ID), Cause: shmerr.Causef(shmerr.ErrArgument, "there is no such region")}
	}
	clear(t.mem.words(r.ID*p.rowBytes(), 1+len(p.nics)))
	var first error
	for l, k := range t.regions[r.ID].nics {
		if err := p.nics[l].Provider.Unregister(k); err != nil && first == nil {
			first = fmt.Errorf("NIC %s: %w", p.nics[l].name, err)
		}
	}
	t.regions[r.ID] = region{}
	return first
}

// appendRows appends the first rows of the table, at most rowsInAddress, to an encoded address, so
// that peers need not read them.
func (t *table) appendRows(b []byte) []byte {
	n := len(b)
	b = append(b, 0)
	for id := range t.regions {
		if r := &t.regions[id]; r.nics != nil && b[n] < rowsInAddress {
			b[n]++
			b = binary.LittleEndian.AppendUint64(b, r.key)
			for _, k := range r.nics {
				b = binary.LittleEndian.AppendUint64(b, k.Key)
			}
		}
	}
	return b
}

// rows holds the rows that this PE has received of a peer's table of keys.
type rows struct {
	tables   []remoteAddr // by NIC of the peer
	byNumber []row        // by number of the row
}

// newRows returns the rows that a peer appended to its address. A row has the keys of one region of
// the peer's memory, one for each NIC of the peer.
func newRows(c *railAddr) rows {
	r := rows{tables: c.tables}
	for _, w := range c.rows {
		r.put(w.key, w.keys)
	}
	return r
}

// put stores the keys of a peer's region at the peer's NICs.
func (r *rows) put(key uint64, keys []uint64) {
	for len(r.byNumber) <= rowOf(key) {
		r.byNumber = append(r.byNumber, row{})
	}
	r.byNumber[rowOf(key)] = row{key, keys}
}

// get returns the keys of a peer's region at the peer's NICs; nil: they are not known yet.
func (r *rows) get(key uint64) []uint64 {
	if i := rowOf(key); i < len(r.byNumber) && r.byNumber[i].key == key {
		return r.byNumber[i].keys
	}
	return nil
}

// keyAt returns the key of an operation's remote region at NIC r of its PE. It fails if the PE has
// registered another region in the region's row since the row was read.
func (p *Provider) keyAt(m *fabric.RMA, r int) (uint64, error) {
	keys := p.peers[m.PE].rows.get(m.Key)
	if keys == nil {
		return 0, p.refuse("move to", fmt.Sprintf("PE %d", m.PE), shmerr.Causef(shmerr.ErrArgument, "the key's region is gone"))
	}
	return keys[r], nil
}

// fetch is the Read of a row of a peer's table of keys.
type fetch struct {
	state fetchState
	pe    libshmem.PE
	key   uint64
	err   int32 // of a row that could not be read, or is not the key's
	text  string
}

// fetchState is the state of a fetch: whether its Read is posted.
type fetchState uint8

const (
	fetchFree     fetchState = iota // the entry has no fetch
	fetchDue                        // the Read is to be posted, or posted again
	fetchUnderWay                   // the Read is posted
	fetchFailed                     // fetchRow has not returned the failure yet
)

// errDenied is libfabric's number for the error of an operation with a key that the peer has not
// registered.
const errDenied = 13

// fetchRow posts a Read of one row of a PE's table of keys: the keys of the region that key names,
// one for each NIC of the PE. It posts nothing if that Read is in flight, if all entries of
// p.fetches are in use, or if the NIC's queue is full. The caller repeats the call until rows.get
// finds the row. fetchRow returns the fetch only if the Read has failed, once, and frees its entry.
// Otherwise it returns nil.
func (p *Provider) fetchRow(pe libshmem.PE, key uint64) *fetch {
	at := -1
	for i := range p.fetches {
		f := &p.fetches[i]
		switch {
		case f.state != fetchFree && f.pe == pe && f.key == key:
			if f.state == fetchFailed {
				f.state = fetchFree
				return f
			}
			at = i
		case at < 0 && (f.state == fetchFree || f.state == fetchFailed):
			at = i // drops the failure of another row, which is read again at the next fetchRow
		}
	}
	if at < 0 {
		return nil
	}
	if f := &p.fetches[at]; f.state == fetchFree || f.state == fetchFailed {
		*f = fetch{state: fetchDue, pe: pe, key: key}
	}
	p.readRow(at)
	return nil
}

// readRow posts the read of fetch i, which reads the keys of a region from the table of a peer. If
// the NIC's queue is full, the fetch stays due and retry posts it. If the NIC reports another error
// and messages may be sent again, its pair has failed, and retry posts the read on another one.
// Without resend the fetch fails: messages that have completed there may be lost, so the caller has
// to learn of the error, as it does from Send.
func (p *Provider) readRow(i int) {
	f := &p.fetches[i]
	if f.state != fetchDue {
		return
	}
	peer := &p.peers[f.pe]
	l, r := p.pickNIC(peer)
	if r < 0 {
		f.state, f.err, f.text = fetchFailed, errUnreachable, fmt.Sprintf("no NIC reaches PE %d any more", f.pe)
		return
	}
	n := p.nics[l]
	tok, ok := n.reserveToken(job{what: jobRow, slot: int32(i), pe: f.pe, remote: int32(r)})
	if !ok {
		return
	}
	size := uint64(8 * (1 + peer.rails))
	op := &p.moving
	*op = fabric.RMA{
		PE: p.addressIndex(f.pe, r), Local: p.table.mem.at(p.fetchAt(i)), Len: size, Desc: p.table.memRegions[l].Desc,
		Remote: peer.rows.tables[r].at + uint64(rowOf(f.key))*size, Key: peer.rows.tables[r].key, Token: tok,
	}
	switch err := n.Read(op); {
	case err == nil:
		f.state = fetchUnderWay
	case err == fabric.ErrAgain:
		n.freeToken(tok)
	case !p.resend || isCallerError(err):
		n.freeToken(tok)
		f.state, f.err, f.text = fetchFailed, errUnreachable, fmt.Sprintf("read of a key: %v, NIC %s", err, n.name)
	default:
		n.freeToken(tok)
		p.failPair(l, f.pe, r, err.Error())
	}
}

// storeRow stores the keys that fetch i has read. If the row has another key, the peer has
// unregistered the region, and the fetch fails.
func (p *Provider) storeRow(i int) {
	f := &p.fetches[i]
	peer := &p.peers[f.pe]
	w := p.table.mem.words(p.fetchAt(i), 1+peer.rails)
	if w[0] != f.key {
		f.state, f.err = fetchFailed, errDenied
		f.text = fmt.Sprintf("permission denied: PE %d has registered no memory with the key", f.pe)
		return
	}
	peer.rows.put(f.key, append([]uint64(nil), w[1:]...))
	f.state = fetchFree
}
