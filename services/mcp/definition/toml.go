package definition

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// toml writes the servers of Codex. Its basic strings are those of JSON, but for DEL, which JSON writes as it is.
type toml struct{ b bytes.Buffer }

func (t *toml) table(name string) {
	if t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
	t.b.WriteString("[mcp_servers." + tomlKey(name) + "]\n")
}

func (t *toml) line(key, value string) { t.b.WriteString(key + " = " + value + "\n") }

func (t *toml) list(key string, values []string) {
	if len(values) == 0 {
		return
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = tomlText(v)
	}
	t.line(key, "["+strings.Join(texts, ", ")+"]")
}

func (t *toml) entries(key string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		texts = append(texts, tomlKey(name)+" = "+tomlText(values[name]))
	}
	t.line(key, "{ "+strings.Join(texts, ", ")+" }")
}

// fill says that the values with ${NAME} in what follows have to be written out by hand.
func (t *toml) fill(texts ...string) {
	if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "${") }) {
		t.b.WriteString("# Codex does not put variables in: replace ${NAME} by its value\n")
	}
}

func (t *toml) stdio(d Definition) {
	plain := d.portable("${")
	var forwarded []string
	for name, value := range d.Env {
		if value == envReference+name || value == "${"+name+"}" {
			forwarded = append(forwarded, name)
			delete(plain.Env, name)
		}
	}
	slices.Sort(forwarded)
	t.fill(append(slices.Collect(maps.Values(plain.Env)), append(plain.Args, plain.Command, plain.Cwd)...)...)
	t.line("command", tomlText(plain.Command))
	t.list("args", plain.Args)
	t.entries("env", plain.Env)
	t.list("env_vars", forwarded)
	if d.Cwd != "" {
		t.line("cwd", tomlText(plain.Cwd))
	}
}

func (t *toml) http(d Definition) {
	plain := d.portable("${")
	variables, bearer := map[string]string{}, ""
	for name, value := range d.Headers {
		ref := onlyVariable(value)
		token, isBearer := strings.CutPrefix(value, "Bearer ")
		switch {
		case ref != "":
			variables[name] = ref
		case strings.EqualFold(name, "Authorization") && isBearer && onlyVariable(token) != "":
			bearer = onlyVariable(token)
		default:
			continue
		}
		delete(plain.Headers, name)
	}
	t.fill(append(slices.Collect(maps.Values(plain.Headers)), plain.URL)...)
	t.line("url", tomlText(plain.URL))
	if bearer != "" {
		t.line("bearer_token_env_var", tomlText(bearer))
	}
	t.entries("http_headers", plain.Headers)
	t.entries("env_http_headers", variables)
}

// onlyVariable is NAME for a text that is env:NAME or ${NAME} and nothing else.
func onlyVariable(text string) string {
	name, ok := strings.CutPrefix(text, envReference)
	if !ok {
		if name, ok = strings.CutPrefix(text, "${"); !ok || !strings.HasSuffix(name, "}") {
			return ""
		}
		name = strings.TrimSuffix(name, "}")
	}
	if !variableName(name) {
		return ""
	}
	return name
}

func tomlText(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a text
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

func tomlKey(name string) string {
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return r > '~' || !nameByte(byte(r)) }) < 0 {
		return name
	}
	return tomlText(name)
}

// seconds are whole ones, rounded up.
func seconds(ms int) string { return strconv.Itoa((ms + 999) / 1000) }
