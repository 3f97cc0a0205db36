package bridge

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/bus"
)

// Name is the user of the bus that a bridge is.
const Name = "bridge"

// Spec says what it does on the bus: it reads, and asks others to do the rest.
func Spec() bus.Spec {
	return bus.Spec{
		Name: Name, Follows: true,
		Asks: []string{
			"conversations.list", "conversations.get", "conversations.read",
			"approvals.list", "approvals.get", "approvals.decide", "approvals.approvers",
			"outbox.send",
			"intake.submit", "intake.control", "intake.reply", "tools.explain", // calls of tools by programs outside
		},
	}
}

// Mode says when conversations are pushed to a client that is Claude Code.
type Mode string

// The modes.
const (
	Auto Mode = "auto" // when the client names itself so
	On   Mode = "on"
	Off  Mode = "off"
)

// Config is what a bridge needs.
type Config struct {
	Version string       // of jetclaw
	Claude  Mode         // "": Auto; over stdio only
	Log     *slog.Logger // required; never to stdout
	// Agent makes it a server of the tools of that agent, which has to be configured as a client, and of nothing else.
	Agent string
	// Patience is how long a call waits for a jetclaw that is away. 0: DefaultPatience.
	Patience time.Duration
}

// DefaultPatience is longer than a restart takes, and shorter than clients wait.
const DefaultPatience = 15 * time.Second

// Bridge is an MCP server for other clients; see the package documentation.
type Bridge struct {
	config Config
	line   *line
	reader *reader
	looks  looks
	log    *slog.Logger
	// protocol is for the SDK, which logs as an error what clients do wrong.
	protocol *slog.Logger
	extend   *extension // what only tests add; nil
}

// extension adds to a server what the protocol has and a bridge does not.
type extension struct {
	options func(*mcp.ServerOptions) // before the server is made
	server  func(*mcp.Server)        // after it
}

// looks bound how many pages are read from the journal at a time: each holds a batch of it. The others wait.
type looks chan struct{}

const maxLooks = 4

func (l looks) enter(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l looks) leave() { <-l }

// New makes a bridge that has no connection yet: Attach gives it one.
func New(c Config) (*Bridge, error) {
	if c.Log == nil {
		return nil, errors.New("the bridge needs a logger")
	}
	if c.Claude == "" {
		c.Claude = Auto
	}
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	return &Bridge{
		config: c, line: newLine(c.Patience), reader: newReader(), looks: make(looks, maxLooks),
		log: c.Log, protocol: slog.New(lowered{c.Log.Handler()}),
	}, nil
}

// Attach lets the bridge use a connection until ctx ends, or the connection fails. Before and between connections clients are served
// from memory, and wait for the next one.
func (b *Bridge) Attach(ctx context.Context, conn *bus.Conn) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := b.reader.follow(ctx, conn); err != nil && ctx.Err() == nil {
			return err
		}
		return nil
	})
	b.line.set(conn)
	defer b.line.set(nil)
	return g.Wait()
}

// Away says, for those who ask meanwhile, why there is no connection.
func (b *Bridge) Away(why string) { b.line.because(why) }
