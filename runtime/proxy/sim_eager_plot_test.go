package proxy

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var eagerPlot = flag.String("eager.plot", "", "have TestSimEager draw its table into this file, as docs/images/eager-latency.svg")

// A bar row is a network, and the microseconds of a token by each way; 0: there is no such path.
type barRow struct {
	name string
	us   [waysToSend]float64
}

// drawBars draws rows of bars, one for each way, as an SVG file.
func drawBars(t *testing.T, file string, rows []barRow) {
	t.Helper()
	const (
		left, right, top, each, gap = 210, 600, 58, 18, 14
		most, step                  = 30, 5 // microseconds
	)
	ways := [waysToSend]struct{ name, colour string }{
		inTiles:   {"in tiles", "#1f6fb2"},
		notified:  {"notification", "#3a8f3a"},
		signalled: {"put with signal", "#b2591f"},
		fenced:    {"put, fence, signal", "#777777"},
	}
	at := func(us float64) float64 { return left + us*(right-left)/most }
	bottom := top + len(rows)*(len(ways)*each+gap) - gap
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 %d" font-family="sans-serif" font-size="12">`, bottom+42)
	line(`<rect width="100%%" height="100%%" fill="white"/>`)
	line(`<text x="320" y="22" text-anchor="middle" font-size="15">a token of 7168 bytes, in models of networks</text>`)
	x := 130.0
	for _, w := range ways {
		line(`<rect x="%.1f" y="34" width="10" height="10" fill="%s"/>`, x, w.colour)
		line(`<text x="%.1f" y="43">%s</text>`, x+14, w.name)
		x += 32 + 6.5*float64(len(w.name))
	}
	for us := 0; us <= most; us += step {
		line(`<path d="M%.1f %dV%d" stroke="#dddddd"/>`, at(float64(us)), top-4, bottom+4)
		line(`<text x="%.1f" y="%d" text-anchor="middle">%d</text>`, at(float64(us)), bottom+20, us)
	}
	line(`<text x="%d" y="%d" text-anchor="middle">microseconds until the reader finds it</text>`, (left+right)/2, bottom+36)
	for i, row := range rows {
		y := top + i*(len(ways)*each+gap)
		line(`<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+len(ways)*each/2+3, row.name)
		for way, us := range row.us {
			if us == 0 {
				line(`<text x="%d" y="%d" fill="#777777">no tile is kept</text>`, left+4, y+way*each+12)
				continue
			}
			line(`<rect x="%d" y="%d" width="%.1f" height="14" fill="%s"/>`, left, y+way*each, at(us)-left, ways[way].colour)
			line(`<text x="%.1f" y="%.1f">%.1f</text>`, at(us)+4, float64(y+way*each)+11.5, us)
		}
	}
	line(`</svg>`)
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}
