package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// exportOptions are the flags of `sessions export`.
type exportOptions struct {
	format string
	output string
	force  bool
}

// The formats of an export.
const (
	formatLines    = "jsonl"
	formatMarkdown = "markdown"
)

func (s *shell) sessionsExport() *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a conversation to a file",
		Long: `Writes a session to stdout, or to a file that only you can read. The file appears when it is whole; one that is there already
is kept unless you say --force.

As jsonl it is every event, one a line, exactly as "jetclaw events --json" prints it. As markdown it is for people: who has said
what and when, and which tools were used. Attachments are named, not exported.

Where the journal has a hole, what there is is written all the same; stderr says where it is, and the exit code is 1.

SESSION is as in chat --session: ` + sessionHelp + `.`,
		Example: `  jetclaw sessions export default | jq .type
  jetclaw sessions export work --format markdown --output work.md`,
		Args: oneSession,
		RunE: func(c *cobra.Command, args []string) error { return s.export(c.Context(), args[0], o) },
	}
	c.Flags().StringVar(&o.format, "format", formatLines, "jsonl or markdown")
	c.Flags().StringVarP(&o.output, "output", "o", "", "the file to write; without it stdout")
	c.Flags().BoolVar(&o.force, "force", false, "replace a file that is there")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{formatLines, formatMarkdown}, cobra.ShellCompDirectiveNoFileComp))
	c.ValidArgsFunction = s.completeSessions
	return c
}

func (s *shell) export(ctx context.Context, name string, o exportOptions) error {
	id, err := parseSessionArgument("SESSION", name)
	if err != nil {
		return err
	}
	if formats := []string{formatLines, formatMarkdown}; o.format != formatLines && o.format != formatMarkdown {
		return usagef("--format %s: there is no such format; %s", o.format, suggest.Hint(o.format, formats))
	}
	if o.force && o.output == "" {
		return usagef("--force is for --output, which says what file is meant")
	}
	if o.output != "" && !o.force {
		if err := vacant(o.output); err != nil {
			return err
		}
	}
	e, err := s.env("sessions export", slog.LevelWarn)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		events, hole, err := s.history(ctx, c.Conn, id)
		if err != nil {
			return err
		}
		write := func(out io.Writer) error { return exportTo(out, id, events, hole, o.format) }
		if o.output == "" {
			err = write(s.out)
		} else if err = writeAside(o.output, o.force, write); err == nil {
			fmt.Fprintf(s.err, "%s to %s\n", countedBig(len(events), "event"), o.output)
		}
		if err == nil && hole != nil {
			err = fmt.Errorf("%s; what there is was written", holeText(hole))
		}
		return err
	})
}

func exportTo(out io.Writer, id session.ID, events []envelope.Event, hole *bus.HoleError, format string) error {
	b := bufio.NewWriter(out)
	if format == formatMarkdown {
		if err := writeMarkdown(b, id, events, hole); err != nil {
			return err
		}
		return b.Flush()
	}
	p := printer{out: b, json: true}
	for _, ev := range events {
		if err := p.print(ev); err != nil {
			return err
		}
	}
	return b.Flush()
}

// vacant refuses a path at which something is already.
func vacant(path string) error {
	switch _, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", path, err)
	}
	return fmt.Errorf("%s is there already: say --force to replace it", path)
}

// writeAside gives a file its name when it is whole and on the disk. Whoever looks at the name sees all of it or nothing.
func writeAside(path string, replace bool, write func(io.Writer) error) (err error) {
	switch st, serr := os.Stat(path); {
	case serr != nil: // there is none, or the folder says more
	case st.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", strings.TrimRight(path, "/"))
	case !st.Mode().IsRegular(): // a device or pipe would be gone
		return fmt.Errorf("%s is no regular file and is not replaced: write to stdout instead, without --output", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err = errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if replace {
		return os.Rename(f.Name(), path)
	}
	if err = os.Link(f.Name(), path); err == nil { // unlike a rename it replaces nothing that has come meanwhile
		return os.Remove(f.Name())
	}
	if err := vacant(path); err != nil {
		return err
	}
	return os.Rename(f.Name(), path) // the file system has no links
}
