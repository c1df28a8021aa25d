package config

import (
	"fmt"
	"io"
	"strings"
)

// Print writes the settings with their current values, one block each, for
// SHMEM_INFO and shmem-info --env. Settings that only shmemrun writes are left
// out unless they are set.
func (c *Config) Print(w io.Writer) error {
	category := Category(0xff) // no category, so that the first setting prints a title
	var b strings.Builder
	for _, v := range c.values {
		if v.Category == Launcher && v.From == "" {
			continue
		}
		if v.Category != category {
			category = v.Category
			fmt.Fprintf(&b, "# %s\n", category)
		}
		origin := "default"
		if v.From != "" {
			origin = "from " + v.From
			if v.Default != "" {
				origin += ", default " + v.Default
			}
		}
		fmt.Fprintf(&b, "%s=%s  [%s]\n", v.Name, v.Text, origin)
		fmt.Fprintf(&b, "    %s\n    %s: %s.\n", v.Setting.Text, v.Kind, v.Range())
		if len(v.Aliases) > 0 {
			fmt.Fprintf(&b, "    Also read from %s.\n", strings.Join(v.Aliases, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
