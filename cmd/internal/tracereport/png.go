package tracereport

import (
	"image"
	"image/color"
	"image/png"
	"io"
)

// The colours of the heat map of a picture: white for nothing, then from light to dark.
var heatColours = [shades + 1]color.RGBA{
	{0xff, 0xff, 0xff, 0xff},
	{0xde, 0xeb, 0xf7, 0xff}, {0xc0, 0xd9, 0xee, 0xff}, {0x9b, 0xc4, 0xe2, 0xff}, {0x6f, 0xab, 0xd3, 0xff},
	{0x47, 0x8f, 0xc1, 0xff}, {0x28, 0x71, 0xab, 0xff}, {0x12, 0x52, 0x8c, 0xff}, {0x08, 0x30, 0x5f, 0xff},
}

// The palette of a picture: the colours of the heat map, and two more.
const (
	ink  = shades + 1
	grid = shades + 2
)

var (
	inkColour  = color.RGBA{0x20, 0x20, 0x20, 0xff}
	gridColour = color.RGBA{0xd0, 0xd0, 0xd0, 0xff}
)

const (
	plotSize  = 640 // points of the heat map, about
	letter    = 2   // points of a point of a letter
	lineSpace = 22
)

// PNG draws the bytes between PEs as a heat map, with labels and its scale.
func (r *Report) PNG(w io.Writer) error { return png.Encode(w, r.heatMap()) }

func (r *Report) heatMap() *image.Paletted {
	m := &r.Matrix
	n := max(len(m.Bytes), 1)
	cell := max(plotSize/n, 1)
	if cell > 64 {
		cell = 64
	}
	last := ""
	if len(m.Bytes) > 0 {
		last = m.label(len(m.Bytes)-1, r.Job.NPEs)
	}
	left := width(last, letter) + 20
	top := 4 * lineSpace
	plot := n * cell
	s := newScale(m.Bytes)
	key := 210
	page := image.NewPaletted(image.Rect(0, 0, max(left+plot+20+key, 600), max(top+plot+20, top+(shades+3)*lineSpace)),
		color.Palette{})
	for _, c := range append(heatColours[:], inkColour, gridColour) {
		page.Palette = append(page.Palette, c)
	}
	title, axes := "bytes that calls moved between PEs", "row: PE that calls, column: PE of the memory"
	if m.Of == "network" {
		title, axes = "bytes moved between PEs by the network", "row: PE that posts, column: PE at the other end"
	}
	write(page, 10, 10, letter, ink, title)
	write(page, 10, 10+lineSpace, letter, ink, axes)
	every := labelEvery(n, cell, width(last, letter)+letter*glyphWidth)
	for g := 0; g < len(m.Bytes); g += every {
		text := m.label(g, r.Job.NPEs)
		write(page, left+g*cell+max((cell-width(text, letter))/2, 0), top-lineSpace+2, letter, ink, text)
	}
	every = labelEvery(n, cell, lineSpace)
	for g := 0; g < len(m.Bytes); g += every {
		text := m.label(g, r.Job.NPEs)
		write(page, left-10-width(text, letter), top+g*cell+max((cell-7*letter)/2, 0), letter, ink, text)
	}
	for i, row := range m.Bytes {
		for j, b := range row {
			at := image.Rect(left+j*cell, top+i*cell, left+(j+1)*cell, top+(i+1)*cell)
			if cell >= 8 {
				fill(page, at, grid)
				at.Max = at.Max.Sub(image.Pt(1, 1))
			}
			fill(page, at, uint8(s.class(b)))
		}
	}
	x, y := left+plot+20, top
	for i, h := range s.key() {
		box := image.Rect(x, y+i*lineSpace, x+16, y+i*lineSpace+16)
		fill(page, box, grid)
		fill(page, box.Inset(1), uint8(h.Class))
		write(page, x+24, y+i*lineSpace+1, letter, ink, h.Text)
	}
	return page
}

// labelEvery is how many cells apart labels of a size have room.
func labelEvery(n, cell, size int) int {
	every := 1
	for every*cell < size && every < n {
		every *= 2
	}
	return every
}
