package models

import (
	"net/url"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

const (
	envKey  = "OPENAI_API_KEY"
	envBase = "OPENAI_BASE_URL"
)

// EnvError says that a variable of the environment asks for a model that cannot be used. It never quotes the value.
type EnvError struct {
	Name   string
	Text   string
	Secret bool // the value is a key
}

func (e *EnvError) Error() string { return e.Name + " " + e.Text }

// CheckEnvironment looks at the variables that ask for a model, and asks nobody. An error is an *EnvError.
func CheckEnvironment(r config.Resolver) error {
	key := variable(r, envKey)
	if key != "" {
		r.Known(key)
	}
	if text := config.Unsendable(key); text != "" {
		return &EnvError{Name: envKey, Text: text + "; put nothing but the key there, or unset it", Secret: true}
	}
	base := variable(r, envBase)
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return &EnvError{Name: envBase, Text: "is not a URL as https://host/v1; a key goes into " + envKey + ". Correct it, or unset it"}
	}
	return nil
}

func variable(r config.Resolver, name string) string {
	v, _ := r.Lookup(name)
	return strings.TrimSpace(v)
}
