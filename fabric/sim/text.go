package sim

import (
	"fmt"
	"strings"

	"libshmem/fabric/faults"
)

// A network can be written as text: the name of a model, and words that change it, separated by
// commas.
//
//	efa-direct,nics=4,rails=4,reorder=0.5,delay=20us,drop-peer=3@5ms
//
// Shares are from 0 to 1, times as Go writes them, sizes in bytes, speeds in bits a second with the
// suffix k, M or G. waw, saw, sas, raw, delivery, virtual and local are the network's promises and
// demands, 0 or 1; software, retries and strangers are its behaviour. drop-peer=HOST[@TIME] kills
// the endpoints of a host, lose-nic=HOST/NIC[@TIME] takes a link down, restore-nic brings it up.

// words returns the words of a model's text, such as mtu, each with the field that it sets.
func (m *Model) words() []faults.Word {
	return []faults.Word{
		{Name: "mtu", To: &m.MTU},
		{Name: "header", To: &m.Header},
		{Name: "bandwidth", To: &m.Bandwidth},
		{Name: "latency", To: &m.Latency},
		{Name: "rails", To: &m.Rails},
		{Name: "cross", To: &m.Cross},
		{Name: "nics", To: &m.NICs},
		{Name: "skew", To: &m.Skew},
		{Name: "depth", To: &m.Depth},
		{Name: "longest", To: &m.Longest},
		{Name: "queue", To: &m.Queue},
		{Name: "handshake", To: &m.Handshake},
		{Name: "software", To: &m.Software},
		{Name: "retries", To: &m.Retries},
		{Name: "strangers", To: &m.Strangers},
		{Name: "pollbytes", To: &m.PollBytes},
		{Name: "post", To: &m.Post},
		{Name: "detect", To: &m.Detect},
		{Name: "inject", To: &m.Caps.MaxInject},
		{Name: "injectwrite", To: &m.Caps.MaxInjectWrite},
		{Name: "virtual", To: &m.Caps.VirtualAddress},
		{Name: "local", To: &m.Caps.LocalMR},
		{Name: "waw", To: &m.Caps.WriteAfterWrite},
		{Name: "saw", To: &m.Caps.SendAfterWrite},
		{Name: "sas", To: &m.Caps.SendAfterSend},
		{Name: "raw", To: &m.Caps.ReadAfterWrite},
		{Name: "delivers", To: &m.Delivers},
		{Name: "delivery", To: &m.Caps.DeliveryComplete},
		{Name: "data", To: &m.Caps.Data},
		{Name: "takes", To: &m.Caps.DataTakesRecv},
		{Name: "source", To: &m.Caps.Source},
		{Name: "fence", To: &m.Caps.Fence},
		{Name: "reorder", To: &m.Reorder},
		{Name: "delay", To: &m.Delay},
		{Name: "duplicate", To: &m.Duplicate},
		{Name: "drop", To: &m.Drop},
		{Name: "late", To: &m.Late},
		{Name: "split", To: &m.Split},
		{Name: "again", To: &m.Again},
		{Name: "storm", To: &m.Storm},
	}
}

// Parse reads a network's text, and returns its model and the faults that it plans.
func Parse(text string) (Model, []faults.Fault, error) {
	name, rest, _ := strings.Cut(text, ",")
	m, err := Named(name)
	if err != nil {
		return Model{}, nil, err
	}
	var planned []faults.Fault
	err = faults.Read(rest, append(m.words(),
		faults.Word{Name: "drop-peer", To: faults.Peer(&planned)},
		faults.Word{Name: "lose-nic", To: faults.NIC(&planned, false)},
		faults.Word{Name: "restore-nic", To: faults.NIC(&planned, true)}))
	if err != nil {
		return Model{}, nil, err
	}
	for _, f := range planned { // now all words are read, nics among them
		if nics := max(m.NICs, 1); f.NIC >= nics {
			return Model{}, nil, fmt.Errorf("lose-nic, restore-nic: there is no NIC %d, each host has %d (use 0 to %d, or more nics)", f.NIC, nics, nics-1)
		}
	}
	return m, planned, nil
}

// String returns the text that Parse reads: the name of the model and its differences from it.
func (m Model) String() string {
	base, err := Named(m.Name)
	if err != nil {
		base = Model{}
	}
	base.normalise()
	m.normalise()
	out := m.Name
	usual := base.words()
	for i, w := range m.words() {
		if text := w.Value(); text != usual[i].Value() {
			out += "," + w.Name + "=" + text
		}
	}
	return out
}
