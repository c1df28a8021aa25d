// Package credit bounds the operations, bytes, messages without an answer and numbered writes under
// way, of all PEs and to one of them. It computes the bounds from the size of the job and from what
// a provider granted. The engine counts, and refuses operations above a bound.
package credit
