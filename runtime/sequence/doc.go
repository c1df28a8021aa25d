// Package sequence keeps the order between one-sided writes and messages on a network that keeps
// none: EFA's SRD, and any provider that may deliver a message before the bytes of a write that was
// posted earlier.
//
// The target restores the order, so that no sender waits. A flow is the writes of one PE to
// another. Every write that a later message may depend on gets the next number of its flow and
// carries it as immediate data. Every message says how many writes of the flow must have arrived
// before the target applies it. The target counts the arrivals: the edge is the number below which
// all writes have arrived. A put with signal is then a write, followed at once by a message that
// needs the write; a fence is a number that later messages carry; the reply to a flush request
// confirms that earlier writes have arrived, whatever the provider's own completions promise.
//
// Out is the sender's state of a flow and In the target's. They hold numbers only. The proxy sends
// the numbers, keeps messages that arrived before writes that they need, and decides in which order
// messages are applied; it sorts them by a number of their own.
//
// # Numbers
//
// A write's number travels in Space.Bits bits, the counts in messages in 32. A sender has at most
// Space.Window writes under way that the target has not acknowledged. Even with a window of as many
// writes as there are numbers, the target would know which write a number means. The window is at
// most half of that, so that the target can also distinguish a repeated write from an early one.
// Counts are compared by their distance, which is right as long as no message is overtaken by 2^31
// writes of its flow: 8 TiB of the smallest writes that are not sent as messages.
//
// # Streams
//
// Immediate data has 32 bits, and not every provider reports the sender of a write. So each flow to
// a PE gets a stream number from Streams at its first use, which the immediate data carries beside
// the write's number. If there are more flows than stream numbers, or while the reply with the
// number is under way, the sender itself keeps the order of the flow.
//
// Nothing here is safe for concurrent use.
package sequence
