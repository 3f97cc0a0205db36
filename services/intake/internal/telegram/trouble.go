package telegram

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

// trouble is an episode of failed calls: said when it begins, when it changes, each hour, and when it ends. It has one user at
// a time.
type trouble struct {
	log      *slog.Logger
	now      Status // "": none
	since    time.Time
	said     time.Time
	tries    int
	wait     backoff
	conflict backoff
}

func (b *bot) trouble() trouble {
	return trouble{log: b.log, wait: b.pace.retry(), conflict: backoff{first: b.pace.ConflictFirst, most: b.pace.ConflictMost}}
}

func (p Pace) retry() backoff { return backoff{first: p.RetryFirst, most: p.RetryMost} }

func (t *trouble) begin(s Status, err error) {
	if t.now == "" {
		t.since, t.tries = time.Now(), 0
	}
	t.tries++
	if t.now == s && time.Since(t.said) < remindEvery {
		return
	}
	t.now, t.said = s, time.Now()
	if s == Conflict {
		t.log.Warn("telegram: another process polls with this bot's token, or a webhook is set: trying again", "error", err)
		return
	}
	t.log.Warn("telegram cannot be reached: trying again", "error", err)
}

func (t *trouble) end() {
	if t.now != "" {
		t.log.Info("telegram can be reached again", "after", time.Since(t.since).Round(time.Millisecond), "tries", t.tries)
	}
	t.now = ""
	t.wait.reset()
	t.conflict.reset()
}

// errToken says that the token is refused: this bot stops, all else goes on.
var errToken = errors.New("the token is refused")

// failed notes a call that failed, and waits until it may be tried again. It returns errToken when it never may, and
// errStopped when ctx has ended.
func (b *bot) failed(ctx context.Context, t *trouble, err error) error {
	if ctx.Err() != nil {
		return errStopped
	}
	e, ok := errors.AsType[*botapi.Error](err)
	if !ok {
		e = &botapi.Error{Class: botapi.Unknown}
	}
	status, wait := Unreachable, time.Duration(0)
	switch e.Class {
	case botapi.Unauthorized:
		if !e.Foreign() { // else a proxy wants a password
			b.state.failed(Unauthorized, err)
			b.log.Error("a telegram bot has stopped: its token is refused",
				"do", "get a token from @BotFather, put it where channels.telegram."+b.Account+".token reads it, and start again", "error", err)
			return errToken
		}
		wait = t.wait.step()
	case botapi.Conflict:
		status, wait = Conflict, t.conflict.step()
	case botapi.Limited:
		wait = max(e.RetryAfter, t.wait.step())
	case botapi.NotSent, botapi.Refused, botapi.Later, botapi.Unknown:
		wait = max(e.RetryAfter, t.wait.step())
	}
	b.state.failed(status, err)
	t.begin(status, err)
	if !pause(ctx, wait) {
		return errStopped
	}
	return nil
}

// held counts the updates that cannot be taken in now, and says so for all of them once.
type held struct {
	log *slog.Logger

	mu    sync.Mutex
	n     int       // guarded by mu
	since time.Time // guarded by mu
}

func (h *held) begin(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n++; h.n == 1 {
		h.since = time.Now()
		h.log.Warn("telegram updates wait: they cannot be taken in now", "error", err)
	}
}

func (h *held) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n--; h.n == 0 {
		h.log.Info("telegram updates wait no longer", "after", time.Since(h.since).Round(time.Millisecond))
	}
}
