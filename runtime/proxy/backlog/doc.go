// Package backlog names the work that a GPU was given: the streams, the purpose of a driver call,
// and the work that a stream has not carried out. Reports of this PE and of other processes read
// it; package gpustage writes it.
package backlog
