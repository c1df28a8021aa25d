// Package abi looks at the two libraries as a stranger would: what they export
// and need, whether the header compiles alone, and what loading them does to a
// process. It owns symbols.txt, the list of what is exported, which no generator
// writes. What the functions do is tested by the programs of tests/c.
package abi
