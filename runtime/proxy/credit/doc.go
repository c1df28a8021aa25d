// Package credit says how much may be under way: operations, bytes, messages without an answer and
// numbered writes, of all PEs and to one of them. It computes those bounds from the size of the job
// and from what a provider granted. The engine counts, and refuses what is above a bound.
package credit
