package rail

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"libshmem/fabric"
	"libshmem/fabric/rail/peek"
	"libshmem/runtime/shmerr"
)

// Config is the configuration of a Provider.
type Config struct {
	fabric.Config // the caller's; Inner makes of it that of the NICs' endpoints
	Policy        Policy
	// Stripe is the size above which an operation is cut up, a power of two; 0: 128 KiB.
	Stripe uint64
	// Lost is called when a NIC fails for the first time. It may be nil.
	Lost func(text string)
}

const (
	// extras is the number of tokens that each NIC has besides the caller's: for receive buffers,
	// parts that are sent again, copied messages, and reads of rows of keys.
	extras = 256
	// maxCopies caps the injected operations under way whose bytes are kept as copies.
	maxCopies = 128
	// maxCopied is the most bytes of such an operation.
	maxCopied = 256
	// maxNICs caps the NICs of one endpoint.
	maxNICs = 64
)

// Inner returns the configuration of the NICs' endpoints for a Provider with the configuration c.
func Inner(c fabric.Config) fabric.Config {
	if c.Queue > 0 {
		c.Queue += extras
	}
	c.Tokens += extras
	c.MaxRecv, c.MoreRecv = receipts, 0 // messages go to buffers of this package, not to the caller's
	c.Delivery = true                   // what has not arrived can then be sent again by another NIC
	// There is no order between NICs, even if each of them keeps its own.
	c.IfUnordered, c.Fence, c.Atomics = false, false, false
	return c
}

// Provider is a fabric.Provider over several NICs.
type Provider struct {
	nics   []*nic
	caps   fabric.Caps
	policy Policy
	stripe uint64
	cut    uint64 // parts of an operation begin at multiples of it
	lost   func(string)
	me     uint64
	peers  []peer
	widest int  // most NICs of a peer
	cross  bool // any local NIC may send to any NIC of a peer, not only to those of its rail

	tokens   int
	ops      []op   // by the caller's token
	parts    []part // len(nics) for each token
	waiting  []ref  // parts and injected operations that a NIC's full queue has refused
	rescued  []ref  // those that were detached from a failed pair (contact.go)
	stranded []stranded
	done     []fabric.Completion     // for the next Poll
	texts    map[fabric.Token]string // of errors whose completions are stored or returned
	failed   error                   // each Poll returns it from now on

	table    *table
	inbox    inbox
	fetches  [maxFetches]fetch
	resend   bool    // a failed message may be sent again
	spare    []int32 // free entries of injected
	injected [maxCopies]injected

	firstPolled int    // the NIC that is polled first
	load        uint64 // bytes under way by all NICs

	moving  fabric.RMA  // operand of a NIC's Read or Write: as a local variable it would be allocated at each call
	sending fabric.Send // the same for Send
	order   []int       // the local NICs of the parts of one operation (pickNICs)
	batch   [64]fabric.Completion

	state  *peek.State
	peek   *peek.Peek    // nil: the NICs have no functions in C
	sleeps atomic.Uint32 // without peek: Waits so far, which select the NIC of the next one
	awake  atomic.Bool   // without peek: Wake was called, and no Wait has ended by it yet
}

// nic is the endpoint of one of this PE's NICs, with what is under way there.
type nic struct {
	fabric.Provider
	name     string
	load     uint64         // bytes under way
	free     []fabric.Token // of its own tokens, those that are not in use
	jobs     []job          // by its own tokens, modulo extras
	reported bool           // Config.Lost was called for it
	// hadError: the NIC has reported an error that belongs to no operation (fabric.KindTrouble).
	// staleTokens are the caller's tokens that the NIC still holds, of parts that were detached
	// from it and posted on other NICs.
	hadError    bool
	staleTokens map[fabric.Token]bool
	count       fabric.RailCount
}

var _ fabric.Rails = (*Provider)(nil)

// New makes one Provider of endpoints that were opened with Inner(c.Config), in the order of their
// rails. If New fails, it closes the endpoints; otherwise the Provider's Close does.
func New(endpoints []fabric.Provider, c Config) (*Provider, error) {
	p := &Provider{policy: c.Policy, lost: c.Lost, tokens: c.Tokens, texts: map[fabric.Token]string{}}
	if p.stripe = c.Stripe; p.stripe == 0 {
		p.stripe = threshold
	}
	p.cut = min(longestCut, p.stripe/32) // at most a 16th of Auto's shortest part, stripe/2
	fail := func(err error) (*Provider, error) {
		errs := []error{err}
		for _, e := range endpoints {
			errs = append(errs, e.Close())
		}
		return nil, errors.Join(errs...)
	}
	if len(endpoints) == 0 || len(endpoints) > maxNICs {
		return fail(&shmerr.Error{Op: "join", Object: fmt.Sprintf("%d NICs", len(endpoints)), Cause: shmerr.Causef(shmerr.ErrArgument, "from 1 to %d can be one network", maxNICs)})
	}
	for _, e := range endpoints {
		n := &nic{Provider: e, name: e.Caps().Domain, jobs: make([]job, extras)}
		n.count.NIC = n.name
		for t := extras - 1; t >= receipts; t-- {
			n.free = append(n.free, fabric.Token(p.tokens+t))
		}
		p.nics = append(p.nics, n)
	}
	if err := p.combineCaps(); err != nil {
		return fail(err)
	}
	p.ops, p.parts = make([]op, p.tokens), make([]part, p.tokens*len(p.nics))
	// With room for all parts and jobs, so that no post or Poll allocates memory.
	p.waiting = make([]ref, 0, p.tokens*len(p.nics)+len(p.nics)*extras)
	p.order = make([]int, 0, len(p.nics))
	for i := maxCopies - 1; i >= 0; i-- {
		p.spare = append(p.spare, int32(i))
	}
	p.inbox.arrived.items = make([]arrival, len(p.nics)*receipts)
	p.inbox.owed = make([]arrival, 0, len(p.nics)*receipts)
	if p.peek = peek.New(endpoints, p.tokens, p.tokenOf(0)); p.peek == nil {
		p.caps.WaitFD = false
		p.state = peek.NewState(p.tokens)
	} else {
		p.state = p.peek.State()
	}
	var err error
	if p.table, err = p.openTable(); err != nil {
		return fail(err)
	}
	return p, nil
}

// combineCaps sets p.caps to what all NICs together can promise. It fails if the NICs address
// memory in different ways.
func (p *Provider) combineCaps() error {
	first := p.nics[0].Caps()
	c := first
	var names []string
	c.Speed, c.SendQueue, c.RecvQueue = 0, 0, 0
	p.resend = true
	for _, n := range p.nics {
		k := n.Caps()
		if k.Provider != first.Provider || k.VirtualAddress != first.VirtualAddress || k.DataTakesRecv != first.DataTakesRecv {
			return &shmerr.Error{
				Op: "join", Object: fmt.Sprintf("NICs %s and %s", p.nics[0].name, n.name),
				Cause:  shmerr.Causef(shmerr.ErrSetting, "provider %s on one and %s on the other address memory in different ways", first.Provider, k.Provider),
				Remedy: "name NICs of one kind in SHMEM_NIC_LIST",
			}
		}
		names = append(names, n.name)
		c.MaxMessage, c.MaxInject, c.MaxInjectWrite = min(c.MaxMessage, k.MaxMessage), min(c.MaxInject, k.MaxInject), min(c.MaxInjectWrite, k.MaxInjectWrite)
		c.DeliveryComplete = c.DeliveryComplete && k.DeliveryComplete
		p.resend = p.resend && k.SendComplete && k.DeliveryComplete
		c.SendComplete = c.SendComplete && k.SendComplete
		c.LocalMR, c.PinsMemory = c.LocalMR || k.LocalMR, c.PinsMemory || k.PinsMemory
		c.GPU, c.DMABuf = c.GPU && k.GPU, c.DMABuf && k.DMABuf
		c.Data, c.Source = min(c.Data, k.Data), c.Source && k.Source
		c.Arrivals = min(c.Arrivals, k.Arrivals) // all of them may arrive at one NIC
		c.Block = min(c.Block, k.Block)
		c.LocalSegments, c.RemoteSegments = min(c.LocalSegments, k.LocalSegments), min(c.RemoteSegments, k.RemoteSegments)
		c.SendQueue, c.RecvQueue = c.SendQueue+k.SendQueue, c.RecvQueue+k.RecvQueue
		c.Speed += k.Speed
		c.WaitFD = c.WaitFD && k.WaitFD
	}
	c.Domain = strings.Join(names, ",")
	c.WriteAfterWrite, c.SendAfterWrite, c.SendAfterSend, c.ReadAfterWrite = false, false, false, false
	c.Fence, c.Atomics, c.AtomicsWithCPU = false, 0, false
	c.RNRRetries = false // each NIC has its own receive buffers: more of the caller's do not help
	c.Block = min(c.Block, int(p.cut))
	c.Repeats = p.resend
	c.Rails = len(p.nics)
	if p.policy != RoundRobin && len(p.nics) > 1 {
		c.Stripe = p.stripe
	}
	if p.resend {
		// Messages are copied and kept, and the copies are not injected.
		c.MaxInject = min(c.MaxInject, maxCopied)
		c.MaxInjectWrite, c.InjectBlind, c.InjectSilent = c.MaxInject, false, false
	}
	p.caps = c
	return nil
}

// Caps implements fabric.Provider: it returns what the endpoint promises and supports.
func (p *Provider) Caps() fabric.Caps { return p.caps }

// Notes implements fabric.Noter: it returns, each once, the texts of all NICs about options that
// were set on them, or that they have refused.
func (p *Provider) Notes() []string {
	var endpoints []fabric.Provider
	for _, n := range p.nics {
		endpoints = append(endpoints, n.Provider)
	}
	return fabric.NotesOf(endpoints...)
}

// Native implements fabric.Provider: it returns the C functions that do the work without Go.
func (p *Provider) Native() fabric.Native {
	if p.peek == nil {
		return fabric.Native{}
	}
	return p.peek.Native()
}

// Rails implements fabric.Rails: it returns the traffic of each NIC, with that of the C code.
func (p *Provider) Rails() []fabric.RailCount {
	var all []fabric.RailCount
	for l, n := range p.nics {
		c := n.count
		if p.peek != nil {
			p.peek.Count(l, &c)
		}
		all = append(all, c)
	}
	return all
}

// refuse returns the error of an operation that is not posted.
func (p *Provider) refuse(what, object string, cause error) error {
	return &shmerr.Error{Op: what, Object: object, Cause: cause}
}

// Strangers implements fabric.Provider: it returns how many messages of processes outside the job
// were dropped.
func (p *Provider) Strangers() (dropped uint64) {
	for _, n := range p.nics {
		dropped += n.Strangers()
	}
	return dropped
}

// Belated implements fabric.BelatedCounter: it returns how many requests and words of PEs of the job
// the NICs have dropped because they came too late.
func (p *Provider) Belated() (dropped uint64) {
	for _, n := range p.nics {
		dropped += fabric.BelatedOf(n.Provider)
	}
	return dropped
}

// ErrorText implements fabric.Provider: it returns the text of the NIC's error, which was stored
// when the operation failed.
func (p *Provider) ErrorText(c *fabric.Completion) string {
	if c.Err == 0 {
		return "no error"
	}
	if text := p.texts[c.Token]; text != "" {
		return text
	}
	return fmt.Sprintf("error %d, token %d", c.Err, c.Token)
}

// Close implements fabric.Provider: it closes the endpoints of all NICs, and then frees the memory
// that they accessed.
func (p *Provider) Close() error {
	if p.nics == nil {
		return nil
	}
	var errs []error
	for _, n := range p.nics {
		errs = append(errs, n.Close())
	}
	p.nics = nil
	if p.peek != nil {
		p.peek.Close()
	}
	return errors.Join(append(errs, p.table.close(), p.inbox.mem.unmap())...)
}
