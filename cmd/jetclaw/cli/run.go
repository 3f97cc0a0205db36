package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
)

func (s *shell) runCommand() *cobra.Command {
	var target string
	var at app.Away
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the daemon",
		Long: `Runs jetclaw until SIGTERM or Ctrl-C, which let running turns finish; a second one ends at once.

One process runs everything, with a NATS server in it. A target runs a part: the services named, and the server when it is
among them (nats). A part without the server uses the one that this home's daemon runs, or a NATS of your own (--nats).

Telegram bots are served when they are configured, or when TELEGRAM_BOT_TOKEN is set; who writes to one is let in by
"jetclaw pairing".`,
		Example: `  jetclaw run
  TELEGRAM_BOT_TOKEN=123456789:AAH… jetclaw run
  jetclaw run --target nats          in one terminal, and in three others:
  jetclaw run --target intake,outbox
  jetclaw run --target turns
  jetclaw run --target tools,approvals,builtin
  jetclaw run --target turns --nats tls://n1:4222,tls://n2:4222,tls://n3:4222 --creds /etc/jetclaw/keys --tls-ca ca.pem`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := app.ParseTarget(target)
			if err != nil {
				return err
			}
			if err := at.Validate(); err != nil {
				return usagef("%s", err)
			}
			return s.run(c.Context(), app.Daemon{Target: t, NATS: at})
		},
	}
	c.Flags().StringVar(&target, "target", "all", "what to run: "+strings.Join(app.TargetNames(), ", ")+"; several with commas")
	awayFlags(c, &at, "file, or folder with one file a service (turns.nk or turns.creds), for --nats")
	_ = c.RegisterFlagCompletionFunc("target", cobra.FixedCompletions(app.TargetNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// sameWish is how soon a second signal still belongs to the first: timeout(1), and a shell's Ctrl-C, send two.
const sameWish = 200 * time.Millisecond

func (s *shell) run(ctx context.Context, d app.Daemon) error {
	e, err := s.env("run", slog.LevelDebug)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	now, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	d.Hurry = now
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		var first time.Time
		for {
			select {
			case sig := <-signals:
				if !first.IsZero() && time.Since(first) < sameWish {
					continue
				}
				if !first.IsZero() {
					e.Log.Warn("ending at once", "signal", sig.String())
					close(now)
					return
				}
				first = time.Now()
				e.Log.Info("stopping: running turns may finish; once more ends at once", "signal", sig.String())
				stop()
			case <-ended:
				return
			}
		}
	}()
	d.Ready = func(r app.Report) { s.banner(r) }
	return e.Run(ctx, d)
}

// banner says what runs and where, for a person.
func (s *shell) banner(r app.Report) {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-8s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "jetclaw %s runs\n", version().Version)
	line("home", "%s", r.Home)
	if r.Target != "" {
		line("target", "%s", r.Target)
	}
	if r.Models != "" {
		line("model", "%s", r.Models)
	}
	if r.HTTP != "" {
		line("http", "http://%s  (bearer token in %s)", r.HTTP, r.Token)
	}
	if len(r.Bots) > 0 {
		line("telegram", "%s", strings.Join(r.Bots, ", "))
	}
	if r.Bus != "" {
		line("bus", "%s", r.Bus)
	}
	switch r.Sync {
	case "always":
		line("journal", "what was acknowledged is on disk")
	case "interval":
		line("journal", "survives a killed process; a power failure can lose the last two minutes (bus.sync: interval)")
	default:
		line("journal", "as durable as that server makes it")
	}
	fmt.Fprint(s.err, b.String())
}
