// Package mem is this PE's slice of symmetric memory, and what messages do there: elements are
// stored and changed by the instructions that PEs of the same node use, so that all atomic
// operations on an object are atomic together and no reader sees half of an element. It knows no
// message and takes no lock.
package mem
