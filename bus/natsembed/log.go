package natsembed

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// serverLog hands the server's lines on to slog. What the server calls a notice is detail to us.
type serverLog struct {
	log   *slog.Logger
	alarm func() // called after each error: something may be broken

	mu    sync.Mutex
	fatal string // guarded by mu: why Start gave up
}

const serverLine = "nats server"

func (l *serverLog) Noticef(format string, v ...any) {
	l.log.Debug(serverLine, "line", fmt.Sprintf(format, v...))
}

func (l *serverLog) Debugf(format string, v ...any) {
	l.log.Debug(serverLine, "line", fmt.Sprintf(format, v...))
}
func (l *serverLog) Tracef(string, ...any) {}

// recovering is how the server begins to tell that it rebuilds an index after a crash: expected, and not a loss.
const recovering = "Recovering stream state from index errored"

func (l *serverLog) Warnf(format string, v ...any) {
	if strings.Contains(format, recovering) {
		l.Noticef(format, v...)
		return
	}
	l.log.Warn(serverLine, "line", fmt.Sprintf(format, v...))
	l.alarm()
}

func (l *serverLog) Errorf(format string, v ...any) {
	l.log.Error(serverLine, "line", fmt.Sprintf(format, v...))
	l.alarm()
}

// Fatalf is not the end of the process here; Start turns it into an error.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		l.fatal = fmt.Sprintf(format, v...)
	}
}

func (l *serverLog) fatalText() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}
