// Package ops has the records of operations in flight, by token, and says whether a caller may have
// another token. It is data: its caller knows what an operation does, and when it ends.
//
// Operations joins what the operations of a context need, whatever they do: records, peers, quiets
// and the endpoint. The packages for one kind of operation share it by a pointer.
package ops
