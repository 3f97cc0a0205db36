package gate

import (
	"cmp"
	"slices"
	"strings"
)

// program looks into a program that an interpreter is given as an argument. What it does is not known; the texts in it are
// taken for commands that it may run.
func (c *command) program(name string, codes, w []string) {
	inline := len(codes) == 0 // awk: the program is one of the words
	for i, o := range w {
		code := ""
		if inline && !strings.HasPrefix(o, "-") {
			code = o
		}
		for _, flag := range codes {
			code = cmp.Or(code, codeOf(flag, w[i:]))
		}
		if code == "" {
			continue
		}
		c.add([]string{code}, true)
		texts := literals(code)
		for _, t := range texts {
			c.add(strings.Fields(t), true)
		}
		c.add(texts, true)
		if !inline || strings.Contains(code, "system") || strings.ContainsAny(code, "|>") || strings.Contains(code, "getline") {
			c.doubt("%s runs a program that is given in the command", name)
		}
	}
	file := func(o string) bool {
		return o != "" && o[0] != '-' && !strings.ContainsRune(o, hole) && !strings.HasPrefix(o, "/dev/") && !strings.HasPrefix(o, "/proc/")
	}
	about := func(o string) bool { return o == "--version" || o == "-V" || o == "--help" }
	if !inline && !slices.ContainsFunc(w, file) && !slices.ContainsFunc(w, about) {
		c.doubt("%s runs a program that it reads from its input", name)
	}
}

// codeOf is the program that an option holds, when w begins with that option: alone, among other letters, with = or without.
func codeOf(flag string, w []string) string {
	next := ""
	if len(w) > 1 {
		next = w[1]
	}
	switch o := w[0]; {
	case o == flag:
		return next
	case strings.HasPrefix(flag, "--") && strings.HasPrefix(o, flag+"="):
		return o[len(flag)+1:]
	case len(flag) == 2 && len(o) > 2 && o[0] == '-' && o[1] != '-':
		if _, code, ok := strings.Cut(o[1:], flag[1:]); ok {
			return cmp.Or(code, next)
		}
	}
	return ""
}

// literals are the texts in quotes in a program.
func literals(code string) []string {
	var out []string
	for i := 0; i < len(code) && len(out) < 50; i++ {
		if q := code[i]; q == '"' || q == '\'' || q == '`' {
			end := strings.IndexByte(code[i+1:], q)
			if end < 0 {
				break
			}
			if end > 0 {
				out = append(out, code[i+1:i+1+end])
			}
			i += end + 1
		}
	}
	return out
}
