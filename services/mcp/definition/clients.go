package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxServers bounds what one file of another client can bring.
const maxServers = 500

// ParseClients reads the servers out of another client's JSON: {"mcpServers": …} (Claude, Cursor, Gemini and most others),
// {"servers": …} (VS Code) or {"mcp": {"servers": …}}, and those of single projects in Claude Code's file; comments and trailing
// commas are passed by. It is lenient: what is not known here is an info, a server that cannot be used is an error among the
// issues and left out. Names are as they are written; see NameFrom. References are put into our form (${env:NAME},
// ${NAME:-default} and $NAME become ${NAME}), other dollar signs are doubled.
func ParseClients(data []byte) (map[string]Definition, []Issue, error) {
	if len(data) > maxInput {
		return nil, nil, fmt.Errorf("larger than %d MiB", maxInput>>20)
	}
	file, err := object(plainJSON(data))
	if err != nil {
		return nil, nil, err
	}
	servers, err := serversOf(file)
	of := projects(file)
	if err != nil && len(of) == 0 {
		return nil, nil, err
	}
	maps.Copy(of, servers) // those that are for all projects win
	servers = of
	if len(servers) > maxServers {
		return nil, nil, fmt.Errorf("holds more than %d servers", maxServers)
	}
	all, c := map[string]Definition{}, &checks{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		r := client{issues: &checks{}}
		if d, err := r.server(servers[name]); err != nil {
			r.issues.fail("", "%s", err)
		} else if wrong := d.Validate(); len(wrong) > 0 {
			r.issues.found = append(r.issues.found, wrong...)
		} else {
			all[name] = d
		}
		shown := printable(name[:min(len(name), MaxName)])
		for _, i := range r.issues.found {
			c.found = append(c.found, Issue{Level: i.Level, Message: shown + ": " + i.Message})
		}
	}
	return all, c.found, nil
}

// projects are the servers that Claude Code keeps for single folders.
func projects(file entry) entry {
	found := entry{}
	folders, err := object(file["projects"])
	if err != nil {
		return found
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if settings, err := object(folders[folder]); err == nil {
			if servers, err := object(settings["mcpServers"]); err == nil {
				maps.Copy(found, servers)
			}
		}
	}
	return found
}

func serversOf(file entry) (entry, error) {
	for _, path := range [][]string{{"mcpServers"}, {"servers"}, {"mcp", "servers"}, {"context_servers"}} {
		found := file
		for _, key := range path {
			raw, ok := found[key]
			if !ok || null(raw) {
				found = nil
				break
			}
			var err error
			if found, err = object(raw); err != nil {
				return nil, fmt.Errorf("%s: %w", strings.Join(path, "."), err)
			}
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, errors.New(`holds no servers: there is neither "mcpServers" nor "servers"`)
}

// client reads one server of another client.
type client struct{ issues *checks }

func (r client) server(raw json.RawMessage) (Definition, error) {
	e, err := object(raw)
	if err != nil {
		return Definition{}, err
	}
	e.addresses()
	if err := e.ours(&checks{}); err != nil {
		return Definition{}, err
	}
	r.approval(e)
	r.tools(e)
	r.timeouts(e)
	if err := r.oauth(e); err != nil {
		return Definition{}, err
	}
	for _, key := range []string{"env", "headers"} {
		if err := e.asTexts(key); err != nil {
			return Definition{}, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e)) {
		if !slices.Contains(settings, key) {
			r.issues.add(LevelInfo, "", "%q is not taken over", key[:min(len(key), MaxName)])
			delete(e, key)
		}
	}
	d, err := e.definition()
	if err != nil {
		return Definition{}, err
	}
	return r.references(d), nil
}

// addresses takes the names that other clients have for url.
func (e entry) addresses() {
	for _, key := range []string{"httpUrl", "serverUrl"} {
		if raw, ok := e[key]; ok {
			delete(e, key)
			if _, ok := e["url"]; !ok || key == "httpUrl" {
				e["url"] = raw
			}
			if _, ok := e["type"]; !ok {
				e.put("type", StreamableHTTP)
			}
		}
	}
	if raw, ok := e["environment"]; ok {
		delete(e, "environment")
		e["env"] = raw
	}
	if _, ok := e["command"]; ok { // most clients write "stdio" there; one writes anything else only by mistake
		delete(e, "type")
	}
}

func (r client) tools(e entry) {
	filter := ToolFilter{}
	if raw, ok := e["toolFilter"]; ok && json.Unmarshal(raw, &filter) != nil {
		return // the type is reported later
	}
	for key, list := range map[string]*[]string{"includeTools": &filter.Include, "excludeTools": &filter.Exclude} {
		if raw, ok := e[key]; ok && json.Unmarshal(raw, list) == nil {
			delete(e, key)
		}
	}
	if len(filter.Include) > 0 || len(filter.Exclude) > 0 {
		e.put("toolFilter", filter)
	}
	if raw, ok := e["trust"]; ok {
		delete(e, "trust")
		if _, set := e["approval"]; string(raw) == "true" && !set {
			e.put("approval", Approve)
			r.issues.add(LevelWarning, "trust", "is kept as approval: approve; no call of its tools is asked about")
		}
	}
}

// approval says so when a file that somebody else may have written wants fewer questions asked.
func (r client) approval(e entry) {
	var mode Approval
	if raw, ok := e["approval"]; ok && json.Unmarshal(raw, &mode) == nil && (mode == Auto || mode == Approve) {
		r.issues.add(LevelWarning, "approval", "is %s: calls of its tools run without a question, by the word of the file", mode)
	}
}

// timeouts takes a timeout that can only be in milliseconds: some clients count in seconds.
func (r client) timeouts(e entry) {
	raw, ok := e["timeout"]
	if !ok {
		return
	}
	delete(e, "timeout")
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 1000 || n != math.Trunc(n) {
		r.issues.add(LevelInfo, "timeout", "is not taken over: it may be in seconds or in milliseconds")
		return
	}
	if _, ok := e["requestTimeoutMs"]; !ok {
		e.put("requestTimeoutMs", int(min(n, float64(maxTimeout.Milliseconds()))))
	}
}

func (r client) oauth(e entry) error {
	raw, ok := e["oauth"]
	if !ok || null(raw) {
		return nil
	}
	o, err := object(raw)
	if err != nil {
		return fmt.Errorf("oauth: %w", err)
	}
	if enabled, ok := o["enabled"]; ok {
		delete(o, "enabled")
		if string(enabled) == "false" {
			delete(e, "oauth")
			return nil
		}
	}
	var scopes []string
	if list, ok := o["scopes"]; ok && json.Unmarshal(list, &scopes) == nil {
		delete(o, "scopes")
		o.put("scope", strings.Join(scopes, " "))
	}
	for _, key := range []string{"redirectUri", "redirectURL"} {
		if raw, ok := o[key]; ok {
			delete(o, key)
			o["redirectUrl"] = raw
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(nested["oauth"], key) {
			r.issues.add(LevelInfo, "", "%q is not taken over", "oauth."+key[:min(len(key), MaxName)])
			delete(o, key)
		}
	}
	e.put("oauth", o)
	if _, ok := e["auth"]; !ok {
		e.put("auth", "oauth")
	}
	return nil
}

// asTexts makes texts of the numbers and booleans that other clients take as values of variables and headers.
func (e entry) asTexts(key string) error {
	raw, ok := e[key]
	if !ok || null(raw) {
		return nil
	}
	values, err := object(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	for name, value := range values {
		switch value[0] {
		case '"':
		case 'n':
			delete(values, name)
		case '{', '[':
			return fmt.Errorf("%s.%s must be text", key, name)
		default:
			values.put(name, string(value))
		}
	}
	e.put(key, values)
	return nil
}

// references puts references into our form.
func (r client) references(d Definition) Definition {
	return d.rewrite(func(s setting, text string) string {
		if s.kind == clientSecret {
			return text
		}
		if name, ok := strings.CutPrefix(text, "$"); ok && s.kind >= variable && variableName(name) && name == strings.ToUpper(name) {
			return "${" + name + "}"
		}
		if ref, ok, _ := s.reference(text); ok {
			r.issues.add(LevelWarning, s.path, "is read from %s and given to the server: other clients would send these letters", printable(ref))
		}
		return r.reference(s, text)
	})
}

func (r client) reference(s setting, text string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 {
			return b.String() + text
		}
		b.WriteString(text[:i])
		text = text[i+1:]
		inner, rest, closed := strings.Cut(text, "}")
		if !strings.HasPrefix(text, "{") || !closed {
			if text != "" && (text[0] == '$' || text[0] == '{') {
				b.WriteByte('$') // it would begin something here
			}
			b.WriteByte('$')
			continue
		}
		b.WriteString("${" + r.variable(s, inner[1:]) + "}")
		text = rest
	}
}

// variable is the variable that another client's reference stands for.
func (r client) variable(s setting, inner string) string {
	name, _, hasDefault := strings.Cut(inner, ":-")
	if hasDefault {
		r.issues.add(LevelWarning, s.path, "had a default for ${%s}, which is not taken over: set the variable", printable(name))
	}
	switch {
	case variableName(strings.TrimPrefix(name, envReference)):
		switch name = strings.TrimPrefix(name, envReference); name {
		case "userHome":
			return "HOME"
		case "workspaceFolder", "workspaceFolderBasename", "pathSeparator":
			r.issues.add(LevelWarning, s.path, "uses ${%s}, which only an editor knows: write it out", name)
		}
		return name
	case strings.HasPrefix(name, "input:"):
		name = strings.TrimPrefix(name, "input:")
		variable := strings.ToUpper(strings.Join(wordsOf(name), "_"))
		if !variableName(variable) {
			variable = "INPUT_" + variable
		}
		r.issues.add(LevelWarning, s.path, "asks a person for %q; set the environment variable %s instead", name, variable)
		return variable
	}
	return inner // it is refused with its place
}
