// Package ops has the records of operations in flight, by token, and decides whether a caller may
// have another token. Its caller knows what an operation does, and when it ends.
//
// Operations has the state that all operations of a context share: records, peers, quiets and the
// endpoint. The packages for one kind of operation have a pointer to it.
package ops
