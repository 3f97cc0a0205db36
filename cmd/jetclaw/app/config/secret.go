package config

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/internal/private"
)

// Secret is a reference to a secret and, once resolved, its value. It prints and marshals as the reference, never as the
// value; only Value gives that.
type Secret struct {
	ref   string
	value string
}

func (s *Secret) parse(text string) error {
	scheme, name, _ := strings.Cut(text, ":")
	if name == "" || scheme != "env" && scheme != "file" {
		return errors.New("a secret is never written into the file itself: write env:NAME or file:PATH")
	}
	s.ref = text
	return nil
}

// Set says whether there is a reference.
func (s Secret) Set() bool { return s.ref != "" }

// IsZero is for marshalling: what is not set is left out.
func (s Secret) IsZero() bool { return s.ref == "" }

// Value is the secret; "" before Resolve.
func (s Secret) Value() string { return s.value }

func (s Secret) String() string { return s.ref }

// GoString is String: %#v would show the fields.
func (s Secret) GoString() string { return s.ref }

// MarshalYAML writes the reference.
func (s Secret) MarshalYAML() (any, error) { return s.ref, nil }

// MarshalText writes the reference.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.ref), nil }

// LogValue logs the reference.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.ref) }

// SecretError says that a secret cannot be had and what to do.
type SecretError struct {
	File string
	Position
	Path string // of the setting
	Ref  string
	Text string
	Hint string
}

func (e *SecretError) Error() string { return e.Problem().String() }

// Problem is the error in the form that all that is wrong with a configuration has.
func (e *SecretError) Problem() Problem {
	return Problem{File: e.File, Position: e.Position, Path: e.Path, Text: e.Ref + ": " + e.Text, Hint: e.Hint}
}

// Resolver finds the values of references.
type Resolver struct {
	Home   string // file:PATH is relative to it
	Lookup func(name string) (string, bool)
	Known  func(values ...string) // told every value before anybody can use it: the redactor
}

// resolve fills in the value of s. A file that others may read is a warning.
func (r Resolver) resolve(s *Secret) (warning, text, hint string) {
	scheme, name, _ := strings.Cut(s.ref, ":")
	if scheme == "env" {
		value, _ := r.Lookup(name)
		if s.value = strings.TrimSpace(value); s.value == "" {
			return "", "the environment variable is not set", "export " + name + "=…, or remove the setting if none is needed"
		}
	} else if warning, text = r.file(s, name); text != "" {
		return "", text, "write the secret into that file (chmod 600), or name another"
	}
	r.Known(s.value)
	if text = Unsendable(s.value); text != "" {
		return "", text, "put nothing but the secret there"
	}
	return warning, "", ""
}

// Value is the value of a reference, env:NAME or file:PATH. A file that others may read is a warning. Known is not told: not all
// that is referred to is a secret (${HOME}), and whoever asks tells it which are.
func (r Resolver) Value(ref string) (value, warning string, err error) {
	scheme, name, _ := strings.Cut(ref, ":")
	switch {
	case name == "":
	case scheme == "env":
		if value, _ = r.Lookup(name); strings.TrimSpace(value) == "" {
			return "", "", fmt.Errorf("%s is not set; export %s=…", ref, name)
		}
		return value, "", nil
	case scheme == "file":
		s := Secret{ref: ref}
		warning, text := r.file(&s, name)
		if text != "" {
			return "", "", fmt.Errorf("%s: %s", ref, text)
		}
		return s.value, warning, nil
	}
	return "", "", errors.New("a reference is written as env:NAME or file:PATH")
}

// Unsendable says why a value cannot be a key or token, "" when it can: it would not fit into the header of a request.
func Unsendable(value string) string {
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "holds a line break, a space or another character that no key has"
	}
	return ""
}

// maxSecret bounds the file of a secret, in bytes.
const maxSecret = 16 << 10

func (r Resolver) file(s *Secret, name string) (warning, text string) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, _ := r.Lookup("HOME")
		name = filepath.Join(home, rest)
	} else if !filepath.IsAbs(name) {
		name = filepath.Join(r.Home, name)
	}
	data, st, err := readFile(name, maxSecret)
	if err != nil {
		return "", fmt.Sprintf("%s: %s", name, err)
	}
	if s.value = strings.TrimSpace(string(data)); s.value == "" {
		return "", name + " is empty"
	}
	if !private.File(st) {
		warning = fmt.Sprintf("%s: %s has permissions %#o: other users of this machine can read the secret; chmod 600 it",
			s.ref, name, st.Mode().Perm())
	}
	return warning, ""
}

// Resolve fills in the secret of one setting, by its path. A setting without one is left alone.
func (c *Config) Resolve(r Resolver, file, path string, s *Secret) ([]Warning, error) {
	if !s.Set() {
		return nil, nil
	}
	warning, text, hint := r.resolve(s)
	if text != "" {
		return nil, &SecretError{File: file, Position: c.at[path], Path: path, Ref: s.ref, Text: text, Hint: hint}
	}
	if warning != "" {
		return []Warning{{File: file, Position: c.at[path], Path: path, Text: warning}}, nil
	}
	return nil, nil
}

// Secrets are copies of all secrets that the configuration refers to.
func (c *Config) Secrets() []*Secret {
	var all []*Secret
	add := func(s Secret) {
		if s.Set() {
			all = append(all, &s)
		}
	}
	for _, p := range c.Models.Providers {
		add(p.APIKey)
	}
	for _, t := range c.Channels.Telegram {
		add(t.Token)
		add(t.Webhook.Secret)
	}
	add(c.Channels.HTTP.Callback.Token)
	add(c.Tools.WebSearch.Key)
	for _, ref := range c.MCP.secretReferences() {
		add(Secret{ref: ref})
	}
	return all
}
