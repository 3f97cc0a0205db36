package cli

import (
	"strings"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/schemas/session"
)

const sessionHelp = "NAME is main.terminal.local.NAME; with dots a full session id"

// parseSession reads a session as people type it: a name of the terminal's own, or a full id.
func parseSession(text string) (session.ID, error) {
	var id session.ID
	var err error
	if strings.Contains(text, ".") {
		id, err = session.Parse(text)
	} else {
		id, err = session.New(config.MainAgent, "terminal", "local", text)
	}
	if err != nil {
		return "", usagef("--session %s", err)
	}
	return id, nil
}
