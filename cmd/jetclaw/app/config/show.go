package config

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// YAML writes the configuration in force, defaults included, in the form that Load reads. Secrets stay references.
func (c *Config) YAML() ([]byte, error) {
	out, err := yaml.MarshalWithOptions(c, yaml.Indent(2), yaml.IndentSequence(true), yaml.OmitZero(),
		yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return out, nil
}

// MarshalYAML writes zeros too: where there is a default, to leave one out would mean that default.
func (l Limits) MarshalYAML() ([]byte, error) {
	type plain Limits
	return yaml.Marshal(plain(l))
}

// MarshalYAML writes zeros too: they say that all is kept.
func (r Retention) MarshalYAML() ([]byte, error) {
	type plain Retention
	return yaml.Marshal(plain(r))
}
