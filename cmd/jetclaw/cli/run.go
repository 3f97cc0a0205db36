package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/internal/sdnotify"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/monitor"
)

func (s *shell) runCommand() *cobra.Command {
	var target, watch, pprof string
	var at app.Away
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the daemon",
		Long: `Runs jetclaw until SIGTERM or Ctrl-C, which let running turns finish; a second one ends at once.

One process runs everything, with a NATS server in it. A target runs a part: the services named, and the server when it is
among them (nats). A part without the server uses the one that this home's daemon runs, or a NATS of your own (--nats).

Telegram bots are served when they are configured, or when TELEGRAM_BOT_TOKEN is set; who writes to one is let in by
"jetclaw pairing".

--monitor says how this process is: /healthz (200: it lives), /readyz (200: every part of it is ready; 503 with the names of
those that are not, when NATS is lost, and from SIGTERM on), /metrics (Prometheus). There is no login: use an address of
loopback, or, in a container, ":9464" (every interface) behind a network that lets only Prometheus and the orchestrator in.
Traces go by OTLP (HTTP, JSON) to where OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT say; none
without. They have no text of any conversation.

Exit code 0: it was asked to stop, and has drained. Else: ` + "`" + `jetclaw --help` + "`" + ` lists them; 10, 11 and 12 do not get better by a
restart, 13 does when the bus is there again.`,
		Example: `  jetclaw run
  TELEGRAM_BOT_TOKEN=123456789:AAH… jetclaw run
  jetclaw run --target nats          in one terminal, and in three others:
  jetclaw run --target intake,outbox
  jetclaw run --target turns
  jetclaw run --target tools,approvals,builtin
  jetclaw run --target turns --nats tls://n1:4222,tls://n2:4222,tls://n3:4222 --creds /etc/jetclaw/keys --tls-ca ca.pem
  jetclaw run --monitor 127.0.0.1:9464       curl 127.0.0.1:9464/readyz says what is not ready, /metrics is for Prometheus
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 jetclaw run`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			t, err := app.ParseTarget(target)
			if err != nil {
				return err
			}
			if err := at.Validate(); err != nil {
				return usagef("%s", err)
			}
			if at.URL != "" && t.Server && t.String() != "" {
				return usagef("--target nats is this home's own server, and --nats names another one: leave one of them out")
			}
			if err := monitorFlags(watch, pprof); err != nil {
				return err
			}
			return s.run(c.Context(), app.Daemon{Target: t, NATS: at, Monitor: watch, Pprof: pprof})
		},
	}
	c.Flags().StringVar(&target, "target", "all", "what to run: "+strings.Join(app.TargetNames(), ", ")+"; several with commas")
	awayFlags(c, &at, "file, or folder with one file a service (turns.nk or turns.creds), for --nats")
	c.Flags().StringVar(&watch, "monitor", "", "address for /healthz, /readyz and /metrics, as 127.0.0.1:9464; :9464 is every interface; off for none")
	c.Flags().StringVar(&pprof, "pprof", "", "loopback address for the Go profiler (/debug/pprof/), as 127.0.0.1:6060")
	_ = c.RegisterFlagCompletionFunc("target", cobra.FixedCompletions(app.TargetNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// monitorFlags finds addresses that cannot be meant.
func monitorFlags(watch, pprof string) error {
	if watch != "" && watch != "off" {
		if err := monitor.CheckAddress(watch); err != nil {
			return usagef("--monitor: %v", err)
		}
	}
	if pprof == "" {
		return nil
	}
	if err := monitor.CheckAddress(pprof); err != nil {
		return usagef("--pprof: %v", err)
	}
	if !monitor.Loopback(pprof) {
		return usagef("--pprof: %s is not loopback: a profile shows the memory of the process, and so its secrets", pprof)
	}
	return nil
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
	var asked time.Time // when it was asked to stop; read after watching has ended
	var watching sync.WaitGroup
	d.Hurry = now
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	watching.Go(func() {
		for {
			select {
			case sig := <-signals:
				if !asked.IsZero() && time.Since(asked) < sameWish {
					continue
				}
				if !asked.IsZero() {
					e.Log.Warn("ending at once", "signal", sig.String())
					close(now)
					return
				}
				asked = time.Now()
				e.Log.Info("stopping: running turns may finish; once more ends at once", "signal", sig.String())
				s.tellManager(ctx, e.Log, sdnotify.Stopping)
				stop()
			case <-ended:
				return
			}
		}
	})
	d.Ready = func(r app.Report) {
		s.banner(r)
		s.tellManager(ctx, e.Log, sdnotify.Ready)
	}
	err = e.Run(ctx, d)
	close(ended)
	watching.Wait()
	if err == nil && !asked.IsZero() {
		e.Log.Info("stopped: everything has drained", "after", time.Since(asked).Round(time.Millisecond).String())
	}
	return err
}

// tellManager tells systemd, where it has started us and has asked for that.
func (s *shell) tellManager(ctx context.Context, log *slog.Logger, state string) {
	if err := sdnotify.Tell(ctx, s.lookup, state); err != nil {
		log.Warn("systemd is not told", "error", err)
	}
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
		scheme := "http"
		if r.TLS {
			scheme = "https"
		}
		line("http", "%s://%s  (bearer token in %s)", scheme, r.HTTP, r.Token)
	}
	if len(r.Bots) > 0 {
		line("telegram", "%s", strings.Join(r.Bots, ", "))
	}
	if r.Bus != "" {
		line("bus", "%s", r.Bus)
	}
	if r.Monitor != "" {
		line("monitor", "http://%s/readyz, /healthz, /metrics", r.Monitor)
	}
	if r.Pprof != "" {
		line("pprof", "http://%s/debug/pprof/", r.Pprof)
	}
	if r.Traces {
		line("traces", "are sent")
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
