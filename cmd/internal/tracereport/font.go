package tracereport

import (
	"image"
	"strings"
)

// The letters of a heat map: 5 by 8 points, of which the last are below the line. Go's standard
// library has no font. A bar ends each line of a drawing.
const (
	glyphWidth  = 5
	glyphHeight = 8
)

var letters = [...]struct{ names, points string }{
	{"0123456789", `
 ###    #    ###   ###     #  #####   ##  #####  ###   ### |
#   #  ##   #   # #   #   ##  #      #        # #   # #   #|
#  ##   #       #     #  # #  ####  #        #  #   # #   #|
# # #   #      #    ##  #  #      # ####    #    ###   ####|
##  #   #     #       # #####     # #   #  #    #   #     #|
#   #   #    #    #   #    #  #   # #   #  #    #   #    # |
 ###   ###  #####  ###     #   ###   ###   #     ###   ##  |
                                                           |`},
	{"PEBKMGTabc", `
####  ##### ####  #   # #   #  ###  #####       #          |
#   # #     #   # #  #  ## ## #   #   #         #          |
#   # #     #   # # #   # # # #       #    ###  # ##   ### |
####  ####  ####  ##    # # # # ###   #       # ##  # #   #|
#     #     #   # # #   #   # #   #   #    #### #   # #    |
#     #     #   # #  #  #   # #   #   #   #   # ##  # #   #|
#     ##### ####  #   # #   #  ###    #    #### # ##   ### |
                                                           |`},
	{"defghijklm", `
    #         ##        #       #      #  #      ##        |
    #        #  #       #                 #       #        |
 ## #  ###   #     #### # ##   ##     ##  #  #    #   ## # |
#  ## #   # ###   #   # ##  #   #      #  # #     #   # # #|
#   # #####  #    #   # #   #   #      #  ##      #   # # #|
#  ## #      #     #### #   #   #   #  #  # #     #   # # #|
 ## #  ###   #        # #   #  ###  #  #  #  #   ###  #   #|
                   ###               ##                    |`},
	{"nopqrstuvw", `
                                      #                    |
                                      #                    |
# ##   ###  # ##   ## # # ##   ####  ###  #   # #   # #   #|
##  # #   # ##  # #  ## ##  # #       #   #   # #   # #   #|
#   # #   # ##  # #  ## #      ###    #   #   # #   # # # #|
#   # #   # # ##   ## # #         #   #  # #  ## # #  # # #|
#   #  ###  #         # #     ####     ##  ## #   #    # # |
            #         #                                    |`},
	{"xyz.,-:%/ ", `
                                          ##        #      |
                                     ##   ##  #     #      |
#   # #   # #####                    ##      #     #       |
 # #  #   #    #              ####          #     #        |
  #    ####   #                      ##    #     #         |
 # #      #  #     ##    ##          ##   #  ## #          |
#   #  ###  #####  ##    ##                  ## #          |
                         #                                 |`},
}

var glyphs = func() map[rune][]string {
	all := map[rune][]string{}
	for _, l := range letters {
		lines := strings.Split(strings.TrimPrefix(l.points, "\n"), "\n")
		for i, r := range l.names {
			g := make([]string, glyphHeight)
			for y := range g {
				g[y] = lines[y][i*(glyphWidth+1):][:glyphWidth]
			}
			all[r] = g
		}
	}
	return all
}()

// write draws a text with its left upper corner at x, y.
func write(m *image.Paletted, x, y, scale int, c uint8, text string) {
	for _, r := range text {
		for gy, row := range glyphs[r] {
			for gx := range len(row) {
				if row[gx] == '#' {
					fill(m, image.Rect(x+gx*scale, y+gy*scale, x+(gx+1)*scale, y+(gy+1)*scale), c)
				}
			}
		}
		x += (glyphWidth + 1) * scale
	}
}

// width is that of a text in points.
func width(text string, scale int) int { return len(text) * (glyphWidth + 1) * scale }

// fill draws a rectangle in a colour of the palette.
func fill(m *image.Paletted, r image.Rectangle, c uint8) {
	r = r.Intersect(m.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		line := m.Pix[m.PixOffset(r.Min.X, y):][:r.Dx()]
		for x := range line {
			line[x] = c
		}
	}
}
