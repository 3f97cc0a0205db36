package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/natsembed"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/models"
)

// Exit codes, stable.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitApproval = 3 // the call is parked until somebody decides
	exitConfig   = 10
	exitSecrets  = 11 // a secret or key cannot be had, or the bus refuses it
	exitHeld     = 12
	exitStore    = 13 // the store cannot be used: the home's own; or a bus that is not reached, does not answer, has not got a stream
)

// exitCodes is for --help.
const exitCodes = `0 ok, 1 failed, 2 called wrongly, 3 a person has to allow it first, 10 the configuration is wrong, 11 a
secret or key cannot be had or is refused, 12 already running, 13 the store cannot be used, or no NATS server is reached, or a
stream is missing there.`

// usageError says how a command was called wrongly.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// toldError ends a command whose trouble the person has been told already.
type toldError struct{ code int }

func (e *toldError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// exitCode maps an error to the code of the process.
func exitCode(err error) int {
	var (
		usage   *usageError
		target  *app.TargetError
		conf    *config.Error
		secret  *config.SecretError
		creds   *app.CredsError
		environ *models.EnvError
		refused *bus.RefusedError
		away    *app.BusError
		lacks   *bus.MissingError
		held    *home.HeldError
		told    *toldError
		already = natsembed.ErrLocked
	)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return exitOK
	case errors.As(err, &told):
		return told.code
	case errors.As(err, &usage), errors.As(err, &target), errors.Is(err, app.ErrCopies):
		return exitUsage
	case errors.As(err, &conf), errors.As(err, &environ) && !environ.Secret:
		return exitConfig
	case errors.As(err, &secret), errors.As(err, &environ), errors.As(err, &creds), errors.As(err, &refused):
		return exitSecrets
	case errors.As(err, &held), errors.Is(err, already):
		return exitHeld
	case errors.Is(err, natsembed.ErrStore), errors.Is(err, app.ErrNoServer), errors.As(err, &away), errors.As(err, &lacks),
		errors.Is(err, bus.ErrNewer), errors.Is(err, bus.ErrOlder):
		return exitStore
	}
	return exitFailed
}

// advice is what a person can do about an error, "" when it says so itself.
func advice(err error) string {
	var held *home.HeldError
	switch {
	case errors.As(err, &held) && held.Holder.PID != 0 && !held.Holder.Serves:
		who := "a conversation"
		if held.Holder.Command != "jetclaw chat" {
			who = held.Holder.Command
		}
		return fmt.Sprintf("%s (process %d) has this home for itself; leave it, then start `jetclaw run` to use the home from "+
			"several terminals", who, held.Holder.PID)
	case errors.As(err, &held) && held.Holder.PID != 0:
		return fmt.Sprintf("stop it (kill %d), or use another home: %s=DIR", held.Holder.PID, home.EnvVar)
	case errors.Is(err, natsembed.ErrPort):
		return "bus.listen in the configuration says which address the bus takes"
	}
	return ""
}
