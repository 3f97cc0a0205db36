package telegram

import (
	"sync"
	"time"
)

// Status is how a bot does.
type Status string

const (
	Starting     Status = "starting"
	Waiting      Status = "waiting for the lease" // another process polls, or did a moment ago
	Polling      Status = "polling"
	Conflict     Status = "conflict"     // somebody else polls with the token, or a webhook is set
	Unauthorized Status = "unauthorized" // the token is refused: the bot has stopped
	Unreachable  Status = "unreachable"  // no answer of the Bot API, or none that can be read
	Hooked       Status = "webhook"
	Stopped      Status = "stopped"
)

// State is how one bot does, for doctor. It holds no secret.
type State struct {
	Account    string    `json:"account"`
	Username   string    `json:"username,omitempty"` // as the Bot API says
	Status     Status    `json:"status"`
	Since      time.Time `json:"since"`
	LastUpdate int64     `json:"last_update,omitempty"` // id of the last update that came
	LastAt     time.Time `json:"last_at,omitzero"`      // when it came
	LastError  string    `json:"last_error,omitempty"`
	ErrorAt    time.Time `json:"error_at,omitzero"`
}

// status keeps a State.
type status struct {
	mu sync.Mutex
	s  State // guarded by mu
}

func newStatus(account string) *status {
	return &status{s: State{Account: account, Status: Starting, Since: time.Now()}}
}

func (t *status) set(s Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.s.Status != s {
		t.s.Status, t.s.Since = s, time.Now()
	}
}

func (t *status) failed(s Status, err error) {
	t.set(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.LastError, t.s.ErrorAt = err.Error(), time.Now()
}

func (t *status) named(username string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Username = username
}

func (t *status) saw(update int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.LastUpdate, t.s.LastAt = update, time.Now()
}

func (t *status) get() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s
}
