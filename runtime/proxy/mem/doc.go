// Package mem is this PE's slice of symmetric memory, with the loads, stores and atomic operations
// of messages. It uses the instructions that PEs of the same node use, so that all atomic
// operations on an object are atomic together and no reader sees half of an element. Of a message
// it knows only the memory that its header names. It takes no lock.
package mem
