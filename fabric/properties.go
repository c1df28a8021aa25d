package fabric

import (
	"slices"
	"strings"
)

// Property is a feature that a program may require of its network, under the name that people use.
type Property struct {
	Name string
	Text string // its meaning, for lists
	has  func(*Caps) bool
}

// Has reports whether an endpoint with these capabilities has the property.
func (p *Property) Has(c *Caps) bool { return p.has(c) }

// Properties lists everything that a program may require of its network.
var Properties = []Property{
	{"rdma", "the NIC moves bytes without the target's processor", func(c *Caps) bool { return !OverSockets(c.Provider) }},
	{"delivery", "writes complete when the bytes are at the target", func(c *Caps) bool { return c.DeliveryComplete }},
	{"ordered-writes", "writes to one PE become visible in their order", func(c *Caps) bool { return c.WriteAfterWrite }},
	{"ordered-messages", "messages to one PE arrive in their order", func(c *Caps) bool { return c.SendAfterSend }},
	{"messages-after-writes", "a message arrives after earlier writes", func(c *Caps) bool { return c.SendAfterWrite }},
	{"fence", "operations may ask to begin after earlier ones", func(c *Caps) bool { return c.Fence }},
	{"data", "a write may notify its target, with 4 bytes", func(c *Caps) bool { return c.Data >= 4 }},
	{"data-source", "the 4 bytes of immediate data of a write count only if they come from the address of a PE, or never", func(c *Caps) bool { return c.Data < 4 || c.Source }},
	{"authentication", "a connection is used only when both of its ends have proved that they belong to the job", func(c *Caps) bool { return Authenticates(c.Provider) }},
	{"atomics", "the network carries out atomic operations", func(c *Caps) bool { return c.Atomics != 0 }},
	{"wait", "a thread can sleep until something arrives", func(c *Caps) bool { return c.WaitFD }},
	{"gpu", "NICs reach memory of GPUs", func(c *Caps) bool { return c.GPU }},
	{"several-nics", "operations are spread over more than one NIC", func(c *Caps) bool { return c.Rails > 1 }},
}

// Base returns the name of a provider without those of the layers above it: tcp of "tcp;ofi_rxm".
func Base(provider string) string {
	base, _, _ := strings.Cut(provider, ";")
	return base
}

// Connected is the suffix of the name of a provider whose connections this library makes itself.
const Connected = ";msg"

// Authenticates reports whether both endpoints of a provider's connections prove that they belong
// to the job.
func Authenticates(provider string) bool { return strings.HasSuffix(provider, Connected) }

// SecurityWarning returns, for warnings, what processes outside a job can do to it because of its
// provider; "" if they can do nothing. Only a provider over sockets that does not authenticate lets
// them do something. docs/guides/safety.md has the details.
func SecurityWarning(provider string) string {
	switch {
	case !OverSockets(provider) || Authenticates(provider):
		return ""
	case ForTests(provider):
		return "only for tests on your own host: one packet from any process that reaches it can end the job"
	}
	return "other users of a PE's host can take over its traffic"
}

// ForTests reports whether a provider serves only tests on a host without other users.
func ForTests(provider string) bool {
	return slices.Contains([]string{"udp", "sockets"}, Base(provider))
}

// OverSockets reports whether a provider uses the system's sockets.
func OverSockets(provider string) bool {
	return slices.Contains([]string{"tcp", "net", "sockets", "udp"}, Base(provider))
}
