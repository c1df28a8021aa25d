//go:build !race

package rail_test

const raceEnabled = false
