// Package stream puts work into the streams of a GPU. When a stream has passed a mark, it calls the
// owners of the chores, tasks of the CPU that follow the work before the mark.
//
// A Set owns the streams of one engine: the marks, how much work each stream has, the chores that
// wait, and the counts that reports read. It moves bytes by a Memory that its caller passes. It
// does not own the meaning of the work or of a chore.
//
// Work in one stream is carried out in order, and two streams are independent. All methods but
// Undone and DriverCall are called with the engine's lock held, and none waits for a GPU. Any
// thread may call those two: the words that they read are atomic, and one word may be older than
// another.
package stream
