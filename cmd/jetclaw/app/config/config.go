// Package config reads jetclaw.yaml.
//
// Everything has a default, so that a missing file is a complete configuration. What is in the file is read strictly: an
// unknown key, a wrong type, a key given twice or a value out of range is a Problem with file, line and column, and all of
// them are reported at once. What is allowed but has a consequence is a Warning that names it. Secrets stand in the file
// as references (env:NAME, file:PATH) only; they are resolved by Resolve, when something is about to use them. An MCP server may
// have its own as others write them: those are a warning.
package config

import (
	"strings"
	"time"
)

// Config is jetclaw.yaml. Sections that this build does not use yet are read and checked all the same.
type Config struct {
	Models    Models           `yaml:"models"`
	Agents    map[string]Agent `yaml:"agents"`
	Tools     Tools            `yaml:"tools"`
	Policy    Policy           `yaml:"policy"`
	Approvals Approvals        `yaml:"approvals"`
	Channels  Channels         `yaml:"channels"`
	Owners    []string         `yaml:"owners"`    // identities: local, "telegram:12345", "http:<token name>"
	Approvers []string         `yaml:"approvers"` // who may answer approvals; none: the owners
	Bus       Bus              `yaml:"bus"`
	Log       Log              `yaml:"log"`
	Outbox    Outbox           `yaml:"outbox"`
	Limits    Limits           `yaml:"limits"`
	Budget    Budget           `yaml:"budget"` // of one day, all agents together
	Retention Retention        `yaml:"retention"`
	Remote    Remote           `yaml:"remote"`
	MCP       MCP              `yaml:"mcp"`

	at map[string]Position // where each path stands in the file
}

// Channels are the ways in and out.
type Channels struct {
	HTTP     HTTP                `yaml:"http"`
	Telegram map[string]Telegram `yaml:"telegram"` // bots by name; see Telegram for the one without configuration
}

// HTTP is the HTTP API.
type HTTP struct {
	Listen   string   `yaml:"listen"` // host:port; "off" for none
	Callback Callback `yaml:"callback"`
}

// Callback is where replies are posted to as they come. Without a URL they wait to be asked for.
type Callback struct {
	URL   string `yaml:"url"`
	Token Secret `yaml:"token"` // sent as a bearer token
}

// Bus is the NATS server: the embedded one, and what there is to be on one elsewhere.
type Bus struct {
	Sync     string `yaml:"sync"`      // always: an acknowledged event is on disk; interval: it will be soon
	MaxBytes Bytes  `yaml:"max_bytes"` // of the journal; when it is full, new messages are refused; 0: a share of the disk
	Listen   string `yaml:"listen"`    // host:port for the CLI and other processes; port 0: any free one
	Replicas int    `yaml:"replicas"`  // copies on a cluster: 1, 3, 5; 0: as many as there are, 1 in a new one
}

// Log is how the process logs.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // auto, text, json
}

// Outbox is what delivers.
type Outbox struct {
	OnUnknown string `yaml:"on_unknown"` // resend, hold: a reply that may have arrived already
}

// Remote is a bus elsewhere that commands talk to instead of the home's own.
type Remote struct {
	URL   string `yaml:"url"`   // several with commas
	Creds string `yaml:"creds"` // file or folder with the keys
	TLS   TLS    `yaml:"tls"`
}

// TLS are the certificates by which a bus elsewhere is known, as files; relative ones lie in the home.
type TLS struct {
	CA   string `yaml:"ca"`   // of whom its certificate has to be; "": whom this machine trusts
	Cert string `yaml:"cert"` // our own, where it asks for one
	Key  string `yaml:"key"`
}

// Default is the configuration of an empty file.
func Default() *Config {
	return &Config{
		Channels:  Channels{HTTP: HTTP{Listen: "127.0.0.1:7450"}},
		Owners:    []string{"local"},
		Agents:    map[string]Agent{MainAgent: DefaultAgent()},
		Bus:       Bus{Sync: "always", Listen: "127.0.0.1:0"},
		Log:       Log{Level: "info", Format: "auto"},
		Outbox:    Outbox{OnUnknown: "resend"},
		Tools:     defaultTools(),
		Approvals: Approvals{Expire: Duration(24 * time.Hour)},
		Limits:    defaultLimits(),
		Retention: Retention{Archive: "archive"},
	}
}

// defaultOf is what an entry of a map starts from.
func defaultOf(path string) any {
	switch {
	case path == "agents":
		return DefaultAgent()
	case path == "channels.telegram":
		return DefaultBot()
	case strings.HasPrefix(path, "channels.telegram.") && strings.HasSuffix(path, ".groups"):
		return Group{RequireMention: true}
	case path == "models.providers":
		return Provider{API: "openai"}
	}
	return nil
}
