package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxInput bounds what is read, in bytes.
const maxInput = 4 << 20

// entry is a JSON object that is read key by key.
type entry map[string]json.RawMessage

// Parse reads a definition as a JSON object, strictly: an unknown key, a wrong type or a server that could not be used is an
// error. The issues say what was written in another client's way and is kept in ours.
func Parse(data []byte) (Definition, []Issue, error) {
	e, err := object(data)
	if err != nil {
		return Definition{}, nil, err
	}
	c := &checks{}
	if err := e.ours(c); err != nil {
		return Definition{}, nil, err
	}
	if err := e.known("", settings, moved); err != nil {
		return Definition{}, nil, err
	}
	for key, inner := range nested {
		if raw, ok := e[key]; ok && !null(raw) {
			o, err := object(raw)
			if err != nil {
				return Definition{}, nil, fmt.Errorf("%s: %w", key, err)
			}
			if err := o.known(key+".", inner, moved); err != nil {
				return Definition{}, nil, err
			}
		}
	}
	d, err := e.definition()
	if err != nil {
		return Definition{}, nil, err
	}
	if err := first(d.Validate()); err != nil {
		return Definition{}, nil, err
	}
	if err := d.shown(); err != nil {
		return Definition{}, nil, err
	}
	return d, c.found, nil
}

// shown refuses what was printed without its secrets: saved as it is, it would overwrite them.
func (d Definition) shown() error {
	var all []error
	d.rewrite(func(s setting, text string) string {
		if strings.Contains(text, hidden) {
			all = append(all, fmt.Errorf("%s has %s, which stands for a secret that is not shown; write the secret, or better a reference to it",
				s.path, hidden))
		}
		return text
	})
	return errors.Join(all...)
}

// first are the errors among issues as one.
func first(issues []Issue) error {
	var all []error
	for _, i := range issues {
		if i.Level == LevelError {
			all = append(all, errors.New(i.Message))
		}
	}
	return errors.Join(all...)
}

// object reads one JSON object and nothing behind it.
func object(data []byte) (entry, error) {
	if len(data) > maxInput {
		return nil, fmt.Errorf("larger than %d MiB", maxInput>>20)
	}
	var raw json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&raw); err != nil {
		return nil, syntax(err)
	}
	if len(bytes.TrimSpace(data[dec.InputOffset():])) > 0 {
		return nil, errors.New("there is something behind the JSON object")
	}
	if len(raw) == 0 || raw[0] != '{' {
		return nil, errors.New("must be a JSON object")
	}
	if key := twice(raw); key != "" {
		return nil, fmt.Errorf("key %q is given twice", key[:min(len(key), MaxName)])
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, syntax(err)
	}
	return e, nil
}

// syntax says where JSON is wrong, and never what stands there.
func syntax(err error) error {
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON: something is wrong at byte %d", se.Offset)
	}
	return errors.New("not JSON: it ends too early")
}

// twice is a key that the object has two times, or "".
func twice(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	seen := map[string]bool{}
	if _, err := dec.Token(); err != nil {
		return ""
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return ""
		}
		name, _ := key.(string)
		if seen[name] {
			return name
		}
		seen[name] = true
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return ""
		}
	}
	return ""
}

func null(raw json.RawMessage) bool { return string(raw) == "null" }

// ours puts the spellings of other clients that Parse takes into our own.
func (e entry) ours(c *checks) error {
	if raw, ok := e["type"]; ok {
		name, err := e.transport("type", raw)
		if err != nil {
			return err
		}
		if old, ok := e["transport"]; ok {
			if same, err := e.transport("transport", old); err != nil || same != name {
				return errors.New("type and transport say different things; keep transport")
			}
		}
		delete(e, "type")
		e.put("transport", name)
		c.add(LevelInfo, "type", "is kept as transport: %s", name)
	} else if raw, ok := e["transport"]; ok && !null(raw) {
		name, err := e.transport("transport", raw)
		if err != nil {
			return err
		}
		e.put("transport", name)
	}
	if err := e.approval(c); err != nil {
		return err
	}
	if raw, ok := e["disabled"]; ok {
		var disabled bool
		if json.Unmarshal(raw, &disabled) != nil {
			return errors.New("disabled must be true or false")
		}
		if _, ok := e["enabled"]; ok {
			return errors.New("has enabled and disabled; keep enabled")
		}
		delete(e, "disabled")
		e.put("enabled", !disabled)
		c.add(LevelInfo, "disabled", "is kept as enabled: %t", !disabled)
	}
	return nil
}

// transport is our name of a transport that other clients write in several ways.
func (e entry) transport(key string, raw json.RawMessage) (string, error) {
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return "", fmt.Errorf("%s must be text", key)
	}
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name)) {
	case "http", "streamablehttp":
		return StreamableHTTP, nil
	case "sse":
		return SSE, nil
	case "stdio", "local":
		return Stdio, nil
	}
	return "", fmt.Errorf("%s must be one of %s, %s, %s", key, Stdio, StreamableHTTP, SSE)
}

// approval takes codex.defaultToolsApprovalMode.
func (e entry) approval(c *checks) error {
	raw, ok := e["codex"]
	if !ok {
		return nil
	}
	codex, err := object(raw)
	if err != nil {
		return fmt.Errorf("codex: %w", err)
	}
	const key = "defaultToolsApprovalMode"
	if err := codex.known("codex.", []string{key}, nil); err != nil {
		return err
	}
	delete(e, "codex")
	mode, ok := codex[key]
	if !ok {
		return nil
	}
	if own, ok := e["approval"]; ok && !bytes.Equal(own, mode) {
		return errors.New("approval and codex." + key + " say different things; keep approval")
	}
	e["approval"] = mode
	c.add(LevelInfo, "codex."+key, "is kept as approval")
	return nil
}

func (e entry) put(key string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and booleans
	}
	e[key] = raw
}

// known refuses keys that nobody knows. elsewhere says how a setting of others is called here.
func (e entry) known(prefix string, keys []string, elsewhere map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(e)) {
		if slices.Contains(keys, key) {
			continue
		}
		if len(key) > MaxName {
			return fmt.Errorf("unknown key %q…; known here: %s", prefix+key[:MaxName], strings.Join(keys, ", "))
		}
		if name, ok := elsewhere[prefix+key]; ok {
			return fmt.Errorf("unknown key %q; here it is %s", prefix+key, name)
		}
		if n := nearest(key, keys); n != "" {
			return fmt.Errorf("unknown key %q; did you mean %q?", prefix+key, prefix+n)
		}
		return fmt.Errorf("unknown key %q; known here: %s", prefix+key, strings.Join(keys, ", "))
	}
	return nil
}

// definition decodes what has only keys of ours.
func (e entry) definition() (Definition, error) {
	if raw, ok := e["transport"]; ok && string(raw) == `"`+Stdio+`"` { // a command says so
		if _, ok := e["url"]; ok {
			return Definition{}, errors.New("transport stdio is for a command, not for a url")
		}
		delete(e, "transport")
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return Definition{}, err
	}
	var d Definition
	if err := json.Unmarshal(raw, &d); err != nil {
		return Definition{}, wrongType(err)
	}
	return d, nil
}

// wrongType says which setting has a value of another type, and never the value.
func wrongType(err error) error {
	te, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return syntax(err)
	}
	want := "a section"
	switch te.Type.Kind().String() {
	case "string":
		want = "text"
	case "int":
		want = "a whole number"
	case "bool":
		want = "true or false"
	case "slice":
		want = "a list"
	}
	got, _, _ := strings.Cut(te.Value, " ") // "number 1.5"
	switch got {
	case "string":
		got = "text"
	case "bool":
		got = "true or false"
	case "array":
		got = "a list"
	case "object":
		got = "a section"
	case "number":
		got = "a number"
	}
	return fmt.Errorf("%s must be %s, not %s", te.Field, want, got)
}
