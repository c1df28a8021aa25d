package gpu

// Limits for the tests.
const (
	MaxManaged = maxManaged
	MaxSize    = maxSize
)

// Kinds is the number of kinds of memory that Ring tries.
var Kinds = len(strategies)
