package mcp

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/secret"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/services/mcp/catalogue"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
	"github.com/jetclaw/jetclaw/services/mcp/internal/launch"
	"github.com/jetclaw/jetclaw/services/mcp/server"
)

// ProbeConfig is what Probe needs.
type ProbeConfig struct {
	Servers map[string]definition.Definition // as they are written
	World   World
	Redact  func(string) string
	// Authorize says who we are to a server; nil: servers that want to be logged in to are not probed.
	Authorize func(name string, d definition.Definition) (client.Authorizer, error)
	Log       *slog.Logger
}

// Probe connects to servers, each beside the others, asks what they offer, and leaves nothing running.
func Probe(ctx context.Context, c ProbeConfig) Probed {
	p := Probed{Servers: map[string]ServerProbe{}, Diagnostics: []Diagnostic{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, maxOpening)
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			one, failed := c.probe(ctx, name, c.Servers[name])
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				p.Diagnostics = append(p.Diagnostics, *failed)
				return
			}
			p.Servers[name] = one
		})
	}
	all.Wait()
	slices.SortFunc(p.Diagnostics, func(a, b Diagnostic) int { return compare(a.Server, b.Server) })
	return p
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (c ProbeConfig) probe(ctx context.Context, name string, written definition.Definition) (ServerProbe, *Diagnostic) {
	var p program
	fail := func(err error) *Diagnostic {
		d := &Diagnostic{Server: name, Launch: written.Launch(), Message: c.Redact(err.Error()), Login: needsLogin(err), Stderr: p.said()}
		if strings.HasSuffix(strings.TrimRight(written.URL, "/"), "/sse") && written.TransportName() != definition.SSE {
			d.Message += "; an address like this one mostly speaks SSE: --transport sse"
		}
		return d
	}
	d, secrets, err := c.World.Resolve(written)
	if err != nil {
		return ServerProbe{}, fail(err)
	}
	if len(secrets) > 0 {
		own, outer := secret.Compile(secrets), c.Redact
		c.Redact = func(text string) string { return own.Redact(outer(text)) } // c is this probe's own
	}
	o := c.World.options(name, d, c.Log)
	o.Redact = c.Redact
	if d.Auth == OAuthMode && c.Authorize != nil {
		if o.Authorize, err = c.Authorize(name, d); err != nil {
			return ServerProbe{}, fail(err)
		}
	}
	if d.TransportName() == definition.Stdio {
		o.Open = func(ctx context.Context) (client.Pipe, error) {
			return p.start(ctx, c.World.command(name, d, c.Redact, c.Log))
		}
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		_ = p.end(stop) // what it left is killed
	}()
	s, err := client.Connect(ctx, o)
	if err != nil {
		return ServerProbe{}, fail(p.explain(err))
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		_ = s.Close(stop) // it is closed either way
	}()
	tools, err := s.Tools(ctx)
	if err != nil {
		return ServerProbe{}, fail(err)
	}
	return probeOf(written, s.Info(), catalogue.Build(name, written, listingOf(tools, s.Info(), c.Redact))), nil
}

func probeOf(written definition.Definition, info client.Info, built catalogue.Built) ServerProbe {
	p := ServerProbe{
		Launch: written.Launch(), Server: ServerInfo{Name: info.Name, Version: info.Version, Protocol: info.Protocol},
		Listed: built.Listed, Filtered: built.Filtered, Annotated: built.Annotated, ReadOnly: built.ReadOnly,
		Resources: info.Resources, Prompts: info.Prompts, ListChanged: ListChanged(info.ListChanged), Issues: built.Issues,
	}
	for _, t := range built.Catalogue.Tools {
		p.Tools = append(p.Tools, t.Name)
	}
	return p
}

// options are those of a connection, as far as a definition and the surroundings say.
func (w World) options(name string, d definition.Definition, log *slog.Logger) client.Options {
	return client.Options{Server: name, Definition: d, Client: w.Version, Proxy: w.Proxy, Log: log}
}

// command is how the program of a server is started.
func (w World) command(name string, d definition.Definition, redact func(string) string, log *slog.Logger) launch.Command {
	return launch.Command{
		Server: name, Path: d.Command, Args: d.Args, Env: d.Env, Dir: d.Cwd, Parent: w.Environ, Home: w.Home, Redact: redact, Log: log,
	}
}

// LookCommand says why the program of a definition cannot be started; nil when it can.
func (w World) LookCommand(d definition.Definition, log *slog.Logger) error {
	_, err := launch.LookPath(w.command("", d, nil, log))
	return err
}

func executorOf(name string) string { return subject.Executor(Name, name) }

func (s *Service) answerProbe(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[ProbeRequest](data)
	if err != nil {
		return nil, err
	}
	if err := s.readAgain(ctx); err != nil { // it may have been written just now
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	servers := map[string]definition.Definition{}
	for _, u := range s.all() {
		u.mu.Lock()
		wanted := len(r.Servers) == 0 && u.on || slices.Contains(r.Servers, u.name) && u.left.IsZero()
		if wanted {
			servers[u.name] = u.conf
		}
		u.mu.Unlock()
	}
	for _, name := range r.Servers {
		if _, ok := servers[name]; !ok {
			return nil, fault.New(fault.NotFound, "no MCP server is called %q", name)
		}
	}
	p := Probe(ctx, ProbeConfig{Servers: servers, World: s.config.World, Redact: s.redact, Authorize: s.authorizer, Log: s.log})
	for name, one := range p.Servers {
		u := s.of(executorOf(name))
		if u == nil {
			continue
		}
		u.mu.Lock()
		one.Resumed = !u.state.Until.IsZero()
		u.mu.Unlock()
		u.note(ctx, server.Asked{By: "probe"})
		u.offer(ctx)
		p.Servers[name] = one
	}
	return p, nil
}
