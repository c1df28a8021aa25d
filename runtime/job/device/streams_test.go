package device

import "testing"

// TestNoStreams: a PE that has made no call on a stream has none to wait for.
func TestNoStreams(t *testing.T) {
	var s *StreamCalls
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
