package generated

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 30))
	for _, test := range []struct{ name, in, want string }{
		{"a short line", "words\n", "words\n"},
		{"a paragraph", long + "\n", long[:99] + "\n" + long[100:] + "\n"},
		{"an item of a list", "- " + long + "\n", "- " + long[:94] + "\n  " + long[95:] + "\n"},
		{"a table", "| " + long + " |\n", "| " + long + " |\n"},
		{"a heading", "# " + long + "\n", "# " + long + "\n"},
		{"a block of code", "```\n" + long + "\n```\n", "```\n" + long + "\n```\n"},
		{"code in a line", long[:89] + " `in one piece`\n", long[:89] + "\n`in one piece`\n"},
	} {
		if got := Wrap(test.in); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
