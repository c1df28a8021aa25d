//go:build race

package rail_test

const raceEnabled = true
