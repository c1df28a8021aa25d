package gpu

// What tests from outside need to know.
const (
	MaxManaged = maxManaged
	MaxSize    = maxSize
)

// Kinds is how many kinds of memory are tried.
var Kinds = len(strategies)
