// Package sequence keeps the order between one-sided writes and messages on a network that has
// none: EFA's SRD, and any provider that may show a message before the bytes of a write that was
// posted earlier.
//
// The target keeps it, so that no sender waits. Every write that a later message may depend on
// takes the next number of its flow, which is one PE's writes to another, and brings it along as
// immediate data. Every message says how many writes of the flow have to be in before it is
// applied. The target counts the arrivals: the edge is the number below which all writes are in. A
// put with signal is then a write and, right behind it, a message that needs it; a fence is a
// number that later messages carry; the answer to a flush confirms that earlier writes have
// arrived, whatever the provider's own completions promise.
//
// Out is the sender's end of a flow and In the target's. They hold numbers only. The proxy carries
// the numbers, keeps messages back and decides in which order they are applied; it sorts them by a
// number of their own.
//
// # Numbers
//
// A write's number travels in Space.Bits bits, the counts in messages in 32. A sender has at most
// Space.Window writes under way that the target has not acknowledged. If the window had as many
// writes as there are numbers, the target would still know which write is meant; with half as many
// it can also tell a repeated write from an early one. Counts are compared by their distance, which
// is right as long as no message is overtaken by 2^31 writes of its flow: 8 TiB of the smallest
// that are not sent as messages.
//
// # Streams
//
// Immediate data has 32 bits and does not name its sender on every provider. Streams gives the
// flows that lead to a PE numbers, on first use, to travel beside the write's. A flow without a
// number, because there are more flows than numbers or the answer is under way, goes on in the
// sender's own order.
//
// Nothing here is safe for concurrent use.
package sequence
