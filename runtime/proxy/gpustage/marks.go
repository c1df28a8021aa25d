package gpustage

import "libshmem/runtime/proxy/gpustage/stream"

// Marks has a mark of each stream. A mark is a point in a stream that the CPU can see it pass.
type Marks [stream.Streams]uint64

// Marks returns the marks that are, or will be, after all work that the streams have now.
func (s *Stage) Marks() *Marks {
	m := new(Marks)
	for i := range m {
		m[i] = s.streams.LastMark(stream.Stream(i))
	}
	return m
}

// Passed reports whether the streams have passed marks: the work before these is complete.
func (s *Stage) Passed(m *Marks) bool {
	for i := range m {
		if s.streams.LastPassed(stream.Stream(i)) < m[i] {
			return false
		}
	}
	return true
}
