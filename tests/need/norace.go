//go:build !race

package need

// Race says whether the test was built with the race detector.
const Race = false
