// Package app puts a jetclaw together: which services exist (modules.go), with what configuration each is made, over which
// bus they talk, and in which order they start and stop.
//
//	Run           the daemon: the services of a target, the embedded server with them or a bus elsewhere
//	WithServices  a client of the running daemon; without one, everything in this process, for as long as it is needed
//	WithJournal   the same for a client that only reads: without a daemon no service is started
//	WithReading   the same for a client of the index: without a daemon that one service runs
//	Attend        the same for a client that stays over restarts of the daemon
//	Restore       a backup in the place of an empty journal
//
// playback, timeline and health look at a journal: what it folds to and would be decided again, what a session's story is, what is
// wrong. Machines has the machines that they ask.
//
// Each service has a connection of its own, as its own user, whether the server is in this process or elsewhere. No
// service can tell which. The home is held (home.Lock) by whatever process runs the server on its data.
package app

import (
	"log/slog"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
)

// Env is what the process around gives. All fields are required.
type Env struct {
	Home    home.Home
	Config  *config.Config
	Silent  bool                             // the command asks no model: notes about models are left out
	Lookup  func(name string) (string, bool) // the environment
	Environ func() []string                  // all of it, as NAME=value
	Secrets *logs.Redactor                   // is told every secret
	Log     *slog.Logger                     // writes through Secrets
	Notice  func(text string)                // a line for the person in front of it
	Command string                           // "jetclaw run": tells others who has the home
	Version string

	told *telling // set by Run; nil: nobody is told of anything
}

func (e Env) resolver() config.Resolver {
	return config.Resolver{Home: e.Home.Dir(), Lookup: e.Lookup, Known: e.Secrets.Add}
}
