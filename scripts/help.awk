# Prints the targets of a Makefile: "##@ Title" lines are headings and
# "target: ... ## text" lines are entries.
BEGIN { FS = ":.*## "; print "libshmem: make TARGET" }
/^##@ / { printf "\n%s\n", substr($0, 5) }
/^[a-z][a-z-]*:.*## / { printf "  %-10s %s\n", $1, $2 }
