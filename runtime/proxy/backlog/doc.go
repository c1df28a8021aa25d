// Package backlog defines the records of GPU work that was put into a stream and that the stream
// has not carried out: the stream, the number of operations and bytes, the age, and the purpose of
// the driver call. Package gpustage writes these records. Reports of this PE read them, and those
// of other processes do so through its status page.
package backlog
