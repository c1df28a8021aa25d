package generated

import "strings"

// Columns is how long a line of a Markdown page may be.
const Columns = 100

// Wrap breaks the long lines of a Markdown page between words. It leaves tables, headings, comments
// and blocks of code as they are, and indents what continues an item of a list.
func Wrap(page string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if code || len(line) <= Columns || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<!--") {
			b.WriteString(line + "\n")
			continue
		}
		indent := ""
		if strings.HasPrefix(line, "- ") {
			indent = "  "
		}
		at := 0
		for i, word := range words(line) {
			switch {
			case i == 0:
			case at+1+len(word) > Columns:
				b.WriteString("\n" + indent)
				at = len(indent)
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += len(word)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// words splits a line at blanks outside of code in backticks.
func words(line string) (all []string) {
	code, from := false, 0
	for i := range len(line) {
		switch line[i] {
		case '`':
			code = !code
		case ' ':
			if !code {
				all, from = append(all, line[from:i]), i+1
			}
		}
	}
	return append(all, line[from:])
}
