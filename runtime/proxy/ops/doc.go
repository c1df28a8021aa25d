// Package ops has the records of operations in flight, by their tokens, and says whether a caller
// may have another one. It is data: what an operation does, and when it ends, its caller knows.
package ops
