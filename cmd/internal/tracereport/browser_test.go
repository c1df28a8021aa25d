package tracereport

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"libshmem/tests/need"
)

// browser is headless chromium. On a push the test runs where it is installed; make test-full
// installs it.
func browser(t *testing.T) func(args ...string) []byte {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && program == "" {
			program = p
		}
	}
	if program == "" && need.Left("browser") {
		t.Skip("no browser opens the page: chromium is missing (apt-get install chromium; make test-full installs it)")
	}
	if program == "" {
		program = need.Command(t, "chromium")
	}
	t.Logf("the page is opened by %s --headless", program)
	dir := t.TempDir()
	return func(args ...string) []byte {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
			"--force-device-scale-factor=1", "--no-first-run", "--disable-background-networking", "--user-data-dir=" + dir,
		}, args...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, errs.String())
		}
		return out.Bytes()
	}
}

// boxes returns the connected areas of a colour that are at least so large, from top to bottom.
func boxes(m image.Image, c color.RGBA, least int) []image.Rectangle {
	b := m.Bounds()
	is := func(x, y int) bool {
		r, g, bl, _ := m.At(x, y).RGBA()
		return uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(bl>>8) == c.B
	}
	seen := make([]bool, b.Dx()*b.Dy())
	var list []image.Rectangle
	for y := range b.Dy() {
		for x := range b.Dx() {
			if seen[y*b.Dx()+x] || !is(x, y) {
				continue
			}
			box, todo := image.Rect(x, y, x+1, y+1), []image.Point{{X: x, Y: y}}
			seen[y*b.Dx()+x] = true
			for len(todo) > 0 {
				p := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				box = box.Union(image.Rect(p.X, p.Y, p.X+1, p.Y+1))
				for _, d := range []image.Point{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}} {
					q := p.Add(d)
					if q.In(b) && !seen[q.Y*b.Dx()+q.X] && is(q.X, q.Y) {
						seen[q.Y*b.Dx()+q.X] = true
						todo = append(todo, q)
					}
				}
			}
			if box.Dx() >= least || box.Dy() >= least {
				list = append(list, box)
			}
		}
	}
	return list
}

// TestPage opens the page of the job with known answers as a reader does, light and dark, wide and
// narrow, and looks at what is drawn.
func TestPage(t *testing.T) {
	open := browser(t)
	r := job(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "page.html")
	var text bytes.Buffer
	if err := r.HTML(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	said := html.UnescapeString(regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`).ReplaceAllString(string(open("--dump-dom", "file://"+name)), "|"))
	said = strings.ReplaceAll(said, "\u00a0", " ")
	for _, want := range append([]string{
		"What the PEs of stencil did", "Time by function", "|shmem_putmem|", "Who was late", "Collective calls that lost most",
		"call 3 of shmem_barrier_all", "Bytes between PEs", "PE 5 with the memory of PE 6: 480 KiB in 120 calls", "|480 KiB|", "4 KiB to 8 KiB",
	}, r.Summary...) {
		if !strings.Contains(said, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, look := range []struct {
		name           string
		width          int
		dark           bool
		page           color.RGBA
		late, top, bar color.RGBA
	}{
		{
			"light, wide", 1200, false,
			color.RGBA{0xff, 0xff, 0xff, 0xff}, color.RGBA{0xc2, 0x57, 0x1a, 0xff}, color.RGBA{0x08, 0x30, 0x5f, 0xff}, color.RGBA{0x28, 0x71, 0xab, 0xff},
		},
		{
			"dark, narrow", 520, true,
			color.RGBA{0x15, 0x18, 0x1b, 0xff}, color.RGBA{0xef, 0x8a, 0x4f, 0xff}, color.RGBA{0xcb, 0xe5, 0xf8, 0xff}, color.RGBA{0x5a, 0xa3, 0xdc, 0xff},
		},
	} {
		t.Run(look.name, func(t *testing.T) {
			shot := filepath.Join(dir, strings.ReplaceAll(look.name, ", ", "-")+".png")
			scheme := 1
			if look.dark {
				scheme = 0
			}
			open(fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), fmt.Sprintf("--window-size=%d,4000", look.width), "--screenshot="+shot, "file://"+name)
			f, err := os.Open(shot)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			m, err := png.Decode(f)
			if err != nil {
				t.Fatal(err)
			}
			if got := color.RGBAModel.Convert(m.At(2, 2)); got != look.page {
				t.Errorf("the page is %v, want %v", got, look.page)
			}
			// One long bar of PE 5, and a short one below it of PE 7.
			late := boxes(m, look.late, 4)
			if len(late) != 2 || late[0].Dx() < 80 || late[1].Dx() > late[0].Dx()/50 || late[1].Min.X != late[0].Min.X || late[1].Min.Y <= late[0].Max.Y {
				t.Errorf("the bars of late PEs are %v", late)
			}
			bars := boxes(m, look.bar, 40)
			if len(bars) < 1 || bars[0].Dx() < 80 {
				t.Errorf("the bars are %v", bars)
			}
			// The darkest cells: of PE 2 with 3, 5 with 6 and 7 with 0. The key has a smaller one.
			cells := boxes(m, look.top, 20)
			if len(cells) != 3 {
				t.Fatalf("the cells with most bytes are %v, want three", cells)
			}
			side := float64(cells[1].Min.X-cells[2].Min.X) / 6
			for i, want := range []image.Point{{X: 3, Y: 2}, {X: 6, Y: 5}, {X: 0, Y: 7}} {
				x := float64(cells[i].Min.X-cells[2].Min.X) / side
				y := float64(cells[i].Min.Y-cells[2].Min.Y)/side + 7
				if d := float64(cells[i].Dx()) - side; x < float64(want.X)-.1 || x > float64(want.X)+.1 || y < float64(want.Y)-.1 || y > float64(want.Y)+.1 || d > 2 || d < -2 {
					t.Errorf("cell %d of %v is at column %.2f and row %.2f, want %v", i, cells, x, y, want)
				}
			}
			if cells[1].Max.X > look.width {
				t.Errorf("the heat map goes beyond the window: %v", cells)
			}
		})
	}
}

// TestScale has a heat map in which all pairs are equal, one without bytes, and many PEs.
func TestScale(t *testing.T) {
	s := newScale([][]int64{{0, 7}, {7, 7}})
	if s.class(7) != shades || s.class(0) != 0 || len(s.legend()) != 2 {
		t.Errorf("class %d, legend %v", s.class(7), s.legend())
	}
	s = newScale([][]int64{{0}})
	if s.class(0) != 0 || len(s.legend()) != 1 {
		t.Errorf("of nothing: legend %v", s.legend())
	}
	s = newScale([][]int64{{1, 128}})
	for n, want := range map[int64]int{1: 1, 2: 2, 3: 3, 64: 7, 65: 8, 128: 8} {
		if got := s.class(n); got != want {
			t.Errorf("%d is of class %d, want %d", n, got, want)
		}
	}
	r := &Report{Job: Job{NPEs: 3000}, Matrix: newMatrix(3000)}
	r.Matrix.add(2999, 0, 9)
	if m := r.Matrix; m.Group != 3 || m.Bytes[999][0] != 9 || m.label(999, 3000) != "2997-2999" {
		t.Errorf("groups of %d", m.Group)
	}
	g := r.Matrix.inGroups(textGroups)
	if len(g.Bytes) != 12 || g.Bytes[11][0] != 9 || g.label(11, 3000) != "2772-2999" {
		t.Errorf("%d rows, the last %s", len(g.Bytes), g.label(11, 3000))
	}
}
