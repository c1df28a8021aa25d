// Package backlog has names for what a GPU was asked for: streams, what a call of its driver is for,
// and the work that a stream has not carried out. Reports of a PE and of another process read it;
// what is in it, gpustage writes.
package backlog
