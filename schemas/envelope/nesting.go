package envelope

// Nesting is how deep objects and lists lie within each other in valid JSON.
func Nesting(data []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case b == '\\':
			i++ // only within quotes
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			now++
			deepest = max(deepest, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return deepest
}
