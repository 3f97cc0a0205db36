package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/registry"
)

func (s *shell) topologyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "topology",
		Short: "Streams, buckets and consumers of a NATS cluster",
		Long: `A bus has streams, buckets and consumers before services run on it. The embedded server makes them at its start. On a cluster
whoever has the key of the user admin makes them, by "topology apply":

  before the first start, and after an upgrade      services say so, and stop
  after "mcp add", "mcp unset", "mcp import"        each MCP server has a consumer of its own; until then its calls wait
  after a change of bus.replicas or bus.max_bytes

A "run" whose folder of keys (--creds) has admin.nk does it at its start and when the configuration changes, except for what could
lose something.`,
		Example: `  jetclaw topology plan --nats tls://n1:4222 --creds /etc/jetclaw/keys --tls-ca ca.pem
  jetclaw topology apply --replicas 3 --nats tls://n1:4222 --creds /etc/jetclaw/keys --tls-ca ca.pem`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.topologyPlan(), s.topologyApply())
	noCompletion(c)
	return c
}

// topologyFlags are those of plan and apply.
type topologyFlags struct {
	at       app.Away
	replicas int
	json     bool
	yes      bool
	wait     time.Duration
}

func (o *topologyFlags) add(c *cobra.Command) {
	awayFlags(c, &o.at, "file, or folder with admin.nk, for --nats")
	replicasFlag(c, &o.replicas)
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c)
}

func replicasFlag(c *cobra.Command, n *int) {
	c.Flags().IntVar(n, "replicas", 0, "copies of each stream: 1, 3 or 5 (default bus.replicas, else as many as there are)")
}

// withReplicas has so many copies instead of those of the configuration; 0 is as it says.
func withReplicas(e app.Env, n int) (app.Env, error) {
	if n == 0 {
		return e, nil
	}
	l := bus.DefaultLimits()
	if l.Replicas = n; l.Validate() != nil {
		return e, usagef("--replicas %d: %s", n, l.Validate())
	}
	c := *e.Config
	c.Bus.Replicas = n
	e.Config = &c
	return e, nil
}

// waitForCluster is how long commands wait for a cluster that has just been started, unless they are told otherwise.
const waitForCluster = 2 * time.Minute

func (s *shell) topologyPlan() *cobra.Command {
	var o topologyFlags
	c := &cobra.Command{
		Use:   "plan",
		Short: "Say what \"topology apply\" would change",
		Long: `Compares what the bus has with what this version needs, and changes nothing. Exit code 0: there is nothing to do; 1: there is; 11,
13: it could not be found out, as the key is refused, or the bus does not answer.

With --json it prints one object with contract, replicas, and changes: action (create, update, replace, unchanged), object, diff, risk.`,
		Example: "  jetclaw topology plan --nats tls://n1:4222 --creds /etc/jetclaw/keys",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return s.planTopology(c.Context(), o) },
	}
	o.add(c)
	return c
}

func (s *shell) topologyApply() *cobra.Command {
	var o topologyFlags
	c := &cobra.Command{
		Use:   "apply",
		Short: "Make the streams, buckets and consumers that this version needs",
		Long: `Creates what is missing and updates what differs; it deletes no stream, consumer or message. It may be repeated, and interrupted.
Fewer copies, narrower limits, and what has to be made anew need --yes: without it they are left as they are and named, all else is
done, and the exit code is 1. Of a cluster that is too small for so many copies it says so. Then it waits until all copies are there.

A topology of a newer jetclaw is never taken back by an older one.`,
		Example: "  jetclaw topology apply --replicas 3 --nats tls://n1:4222 --creds /etc/jetclaw/keys --tls-ca ca.pem",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return s.applyTopology(c.Context(), o) },
	}
	o.add(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "also what could lose something")
	c.Flags().DurationVar(&o.wait, "wait", waitForCluster, "how long to wait for the cluster, and then until all copies are there")
	return c
}

// topologyReport is what `topology plan --json` and `topology apply --json` print.
type topologyReport struct {
	Contract int              `json:"contract"` // of this version
	Replicas int              `json:"replicas"` // asked for; 0: as many as there are
	Changes  []topologyChange `json:"changes"`
	Applied  bool             `json:"applied"` // all but what was refused
}

type topologyChange struct {
	Action  bus.Action `json:"action"`
	Object  string     `json:"object"`
	Diff    []string   `json:"diff,omitempty"`
	Risk    string     `json:"risk,omitempty"`
	Refused bool       `json:"refused,omitempty"` // it was not applied, as it needs --yes
}

// newTopologyReport is of a plan, or of what was applied; refused is of the risks that were left out.
func newTopologyReport(e app.Env, changes []bus.Change, applied, refused bool) topologyReport {
	r := topologyReport{Contract: registry.Contract, Replicas: e.Config.Bus.Replicas, Changes: []topologyChange{}, Applied: applied}
	for _, c := range changes {
		r.Changes = append(r.Changes, topologyChange{c.Action, c.Object, c.Diff, c.Risk, refused && c.Risk != ""})
	}
	return r
}

// onTopology calls fn with the bus and what it has to have.
func (s *shell) onTopology(ctx context.Context, o topologyFlags, fn func(context.Context, app.Env, *bus.Conn, bus.Topology) error) error {
	if err := o.at.Validate(); err != nil {
		return usagef("%s", err)
	}
	e, err := s.env("topology", slog.LevelWarn)
	if err != nil {
		return err
	}
	if e, err = withReplicas(e, o.replicas); err != nil {
		return err
	}
	t, err := e.TopologyOn(o.at)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	patience := app.Patience{Within: o.wait, Tell: s.waitingFor("the cluster")}
	return e.WithOwner(ctx, o.at, patience, func(ctx context.Context, admin *bus.Conn) error { return fn(ctx, e, admin, t) })
}

func (s *shell) planTopology(ctx context.Context, o topologyFlags) error {
	return s.onTopology(ctx, o, func(ctx context.Context, e app.Env, admin *bus.Conn, t bus.Topology) error {
		changes, err := bus.Plan(ctx, admin.JetStream(), t)
		if err != nil {
			return err
		}
		if o.json {
			err = s.writeJSON(newTopologyReport(e, changes, false, false))
		} else {
			err = s.showChanges(changes, "would ")
		}
		if err == nil && differs(changes) {
			err = &toldError{exitFailed}
		}
		return err
	})
}

func (s *shell) applyTopology(ctx context.Context, o topologyFlags) error {
	return s.onTopology(ctx, o, func(ctx context.Context, e app.Env, admin *bus.Conn, t bus.Topology) error {
		apply := bus.ApplyCarefully
		if o.yes {
			apply = bus.Apply
		}
		var changes []bus.Change
		err := bus.UntilAnswered(ctx, o.wait, s.waitingFor("the cluster"), func() (err error) {
			changes, err = apply(ctx, admin.JetStream(), t)
			return err
		})
		risky, refused := errors.AsType[*bus.RiskError](err)
		if err != nil && !refused {
			return err
		}
		if err := s.awaitCopies(ctx, o, admin, t); err != nil {
			return err
		}
		if o.json {
			err = s.writeJSON(newTopologyReport(e, changes, true, refused))
		} else {
			err = s.showApplied(changes, refused)
		}
		if err == nil && refused {
			err = fmt.Errorf("%w\nsay --yes to do that as well", risky)
		}
		return err
	})
}

// showApplied says what was done; what was refused is told as an error.
func (s *shell) showApplied(changes []bus.Change, refused bool) error {
	if !refused {
		return s.showChanges(changes, "")
	}
	done := slices.DeleteFunc(slices.Clone(changes), func(c bus.Change) bool { return c.Risk != "" })
	if !differs(done) {
		return nil
	}
	return s.showChanges(done, "")
}

// waitingFor says on stderr what is waited for, and says the same only once.
func (s *shell) waitingFor(what string) func(error) {
	last := ""
	return func(err error) {
		now := err.Error()
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) {
			now = "it does not answer yet"
		}
		if now != last {
			last = now
			fmt.Fprintf(s.err, "waiting for %s: %s\n", what, now)
		}
	}
}

func (s *shell) awaitCopies(ctx context.Context, o topologyFlags, admin *bus.Conn, t bus.Topology) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.wait, fmt.Errorf("not within %s (--wait)", o.wait))
	defer cancel()
	progress := s.progress()
	defer progress.end()
	return bus.AwaitSettled(ctx, admin.JetStream(), t, func(missing int, stream string) {
		progress.say(fmt.Sprintf("%d copies are not there yet, of %s among others", missing, stream))
	})
}

func differs(changes []bus.Change) bool {
	for _, c := range changes {
		if c.Action != bus.Unchanged {
			return true
		}
	}
	return false
}

func (s *shell) showChanges(changes []bus.Change, would string) error {
	if !differs(changes) {
		_, err := fmt.Fprintf(s.out, "all %d streams, buckets and consumers are as they are to be\n", len(changes))
		return err
	}
	for _, c := range changes {
		if c.Action == bus.Unchanged {
			continue
		}
		risk := ""
		switch {
		case c.Risk != "" && would != "":
			risk = "; needs --yes: " + c.Risk
		case c.Risk != "":
			risk = ": " + c.Risk
		}
		if _, err := fmt.Fprintf(s.out, "%s%s%s\n", would, c, risk); err != nil {
			return err
		}
	}
	return nil
}
