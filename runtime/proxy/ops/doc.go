// Package ops has the records of operations in flight, by token, and says whether a caller may have
// another token. It is data: its caller knows what an operation does, and when it ends.
package ops
