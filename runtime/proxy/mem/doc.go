// Package mem is this PE's slice of symmetric memory, with the loads, stores and atomic operations
// that messages request. It uses the instructions that PEs of the same node use, so that all atomic
// operations on an object are atomic together and no reader sees half of an element. It reads a
// message's header only to find the memory that the header names. It has no lock.
package mem
