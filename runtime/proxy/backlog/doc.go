// Package backlog defines the records of GPU work that was put into a stream and that the stream
// has not carried out: the stream, the number of operations and bytes, the age, and the purpose of
// the driver call. Package gpustage writes these records. Reports of this PE read them, and other
// processes read them in the PE's status page.
package backlog
