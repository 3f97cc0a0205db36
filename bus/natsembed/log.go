package natsembed

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
)

// serverLog hands the server's lines on to slog. What the server calls a notice is detail to us.
type serverLog struct {
	log   *slog.Logger
	alarm func() // called after each error: something may be broken

	mu      sync.Mutex
	fatal   string      // guarded by mu: why Start gave up
	corrupt []consumeAt // guarded by mu: consumers whose state could not be read
}

// consumeAt is a durable consumer of a stream.
type consumeAt struct{ stream, consumer string }

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
	line := fmt.Sprintf(format, v...)
	l.log.Warn(serverLine, "line", line)
	if m := corruptConsumer.FindStringSubmatch(line); m != nil {
		l.mu.Lock()
		l.corrupt = append(l.corrupt, consumeAt{stream: m[1], consumer: m[2]})
		l.mu.Unlock()
	}
	l.alarm()
}

// corruptConsumer is how the server tells that it does without a consumer, as the file with what it has delivered is torn.
var corruptConsumer = regexp.MustCompile(`Error adding consumer '\S+ > (\S+) > (\S+)': .*corrupt state file`)

func (l *serverLog) corruptConsumers() []consumeAt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.corrupt
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
