package manual

// Oshcc describes the compiler wrapper, a script of the shell (scripts/install/oshcc), which prints
// its help itself.
var Oshcc = Page{
	Name: "oshcc", Aliases: []string{"oshc++", "oshcxx", "oshCC"},
	Summary: "compile OpenSHMEM programs",
	Usage:   []string{"oshcc [-show | -showme | -showme:compile | -showme:link] ARGUMENT..."},
	Text: "Runs the C compiler with ARGUMENTs and the flags that a program with\n" +
		"OpenSHMEM needs. OSHMEM_CC names another compiler than gcc.\n\n" +
		"oshc++, oshcxx and oshCC run the C++ compiler. OSHMEM_CXX names another one than g++.",
	Options: []Option{
		{Name: "show", Single: true, Text: "print the command and do not run it; -showme is the same"},
		{Name: "showme", Single: true, Text: "print the command and do not run it"},
		{Name: "showme:compile", Single: true, Text: "print the flags for compiling"},
		{Name: "showme:link", Single: true, Text: "print the flags for linking"},
		{Name: "version", Text: "print the version of the library, and that of the compiler"},
		{Name: "help", Text: "print this text"},
	},
	Examples: []Example{
		{"oshcc -O2 -o ring ring.c", "Compile a program and link it with the library:"},
		{"cc -c $(oshcc -showme:compile) ring.c", "Pass the flags to another command:"},
	},
	SeeAlso: []string{"shmemrun(1)", "shmem(7)"},
}
