package actor

import "time"

// watch is what a lane waits for while its effect runs.
type watch struct {
	done     <-chan outcome   // the effect has come back
	overdue  <-chan time.Time // the claim's deadline
	hurry    <-chan struct{}  // nil before there is an outcome; then it is appended at once, for the last time
	progress <-chan time.Time // the server is to be told that the bells are worked on
	retry    <-chan time.Time // nil before there is an outcome; it is appended once more
	wake     <-chan struct{}  // mail, or a nudge

	outcome outcome // after ended
}

// signal is what has happened.
type signal int

const (
	ended signal = iota
	overran
	working
	again
	news
)

// next waits for what happens next. What has happened already comes in a fixed order, the outcome first: of several that are
// ready a select takes any, and no history could be played a second time.
func (w *watch) next() signal {
	if s, ok := w.ready(); ok {
		return s
	}
	select {
	case w.outcome = <-w.done:
		return ended
	case <-w.overdue:
		return overran
	case <-w.hurry:
		return again
	case <-w.progress:
		return working
	case <-w.retry:
		return again
	case <-w.wake:
		return news
	}
}

func (w *watch) ready() (signal, bool) {
	select {
	case w.outcome = <-w.done:
		return ended, true
	default:
	}
	select {
	case <-w.overdue:
		return overran, true
	default:
	}
	select {
	case <-w.hurry:
		return again, true
	default:
	}
	select {
	case <-w.progress:
		return working, true
	default:
	}
	select {
	case <-w.retry:
		return again, true
	default:
	}
	select {
	case <-w.wake:
		return news, true
	default:
	}
	return 0, false
}
