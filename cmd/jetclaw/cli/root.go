package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/services/builtin"
)

// shell is the process around the commands.
type shell struct {
	in      io.Reader
	out     io.Writer
	err     io.Writer // through secrets, and safe for a terminal
	rawErr  io.Writer // below err, for who drives the terminal
	inTTY   bool
	outTTY  bool
	errTTY  bool
	lookup  func(string) (string, bool)
	secrets *logs.Redactor
}

// Main runs the command line and returns the exit code of the process.
func Main(ctx context.Context, args []string) int {
	if len(args) > 0 && args[0] == app.SandboxCommand { // this process is about to be a command of a model: it reads nothing of ours
		return builtin.SandboxMain(args[1:])
	}
	secrets := &logs.Redactor{}
	out := &sink{w: os.Stdout}
	s := &shell{
		in: os.Stdin, out: out, rawErr: os.Stderr, err: told{secrets.Writer(os.Stderr)}, lookup: os.LookupEnv, secrets: secrets,
		inTTY: isTerminal(os.Stdin), outTTY: isTerminal(os.Stdout), errTTY: isTerminal(os.Stderr),
	}
	// Whatever is logged before a command has read the configuration is redacted, too.
	logs.New(os.Stderr, secrets, logs.Options{Level: slog.LevelWarn, Terminal: s.errTTY, Colour: s.colour(s.errTTY)})
	root := s.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitCode(err)
	if code == exitOK && out.err != nil {
		err, code = fmt.Errorf("write the output: %w", out.err), exitFailed
	}
	var told *toldError
	if code == exitOK || errors.As(err, &told) {
		return code
	}
	text := err.Error()
	if code == exitConfig || code == exitSecrets { // a problem a line
		text = strings.ReplaceAll(text, "\n", "\njetclaw: ")
	}
	fmt.Fprintf(s.err, "jetclaw: %s\n", text)
	if a := advice(err); a != "" {
		fmt.Fprintf(s.err, "%s\n", a)
	}
	return code
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// colour says whether to write in colours: to a terminal that can, for a person who has not said no (no-color.org).
func (s *shell) colour(terminal bool) bool {
	no, _ := s.lookup("NO_COLOR")
	kind, _ := s.lookup("TERM")
	return terminal && no == "" && kind != "dumb"
}

func (s *shell) root() *cobra.Command {
	var asked bool
	root := &cobra.Command{
		Use:   "jetclaw",
		Short: "An always-on runtime for AI agents, on a journal that survives anything",
		Long: `jetclaw runs AI agents that people talk to. Everything that happens is an event in a durable journal:
kill the process at any moment, start it again, and nothing is lost.

Its home is $JETCLAW_HOME, else ~/.jetclaw. It needs no configuration.

Exit codes: ` + exitCodes,
		Example: `  jetclaw chat "hello"          one question, one answer
  jetclaw chat                  talk
  jetclaw run                   the daemon: the HTTP API, Telegram bots
  jetclaw approvals list        what agents want to do and may not without you
  jetclaw events --follow       watch what happens`,
		SilenceErrors: true, SilenceUsage: true,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if asked {
				_, err := fmt.Fprintln(s.out, version().line())
				return err
			}
			return c.Help()
		},
	}
	// Not cobra's own version flag: its template would keep the linker from leaving out what nobody calls, 3.5 MB of it.
	root.Flags().BoolVar(&asked, "version", false, "say which jetclaw this is")
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.InitDefaultCompletionCmd("completion")
	for _, c := range root.Commands() { // the completion command takes no word that is no shell
		if c.Name() == "completion" {
			c.Args, c.RunE = noSuchCommand, func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(s.runCommand(), s.chatCommand(), s.approvalsCommand(), s.pairingCommand(), s.policyCommand(), s.toolsCommand(), s.mcpCommand(),
		s.eventsCommand(), s.usageCommand(), s.contextCommand(), s.explainCommand(), s.replayCommand(), s.forkCommand(), s.diffCommand(),
		s.rerunCommand(), s.deadCommand(), s.backupCommand(), s.restoreCommand(), s.sessionsCommand(), s.configCommand(), s.keysCommand(),
		s.natsCommand(), s.topologyCommand(), s.doctorCommand(), s.healthCommand(), s.versionCommand())
	return root
}

// noSuchCommand refuses arguments of a command that only has subcommands, and names the nearest one.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usagef("there is no command %q; %s\nSee %q.", strings.TrimSpace(c.CommandPath()+" "+args[0]),
		suggest.Hint(args[0], names), c.CommandPath()+" --help")
}

func flagError(c *cobra.Command, err error) error {
	text := err.Error()
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		slices.Sort(names)
		if n := suggest.Nearest(unknown.GetSpecifiedName(), names); n != "" {
			text += "; did you mean --" + n + "?"
		}
	}
	return usagef("%s\nSee %q.", text, c.CommandPath()+" --help")
}

// noCompletion keeps a shell from offering files where none is meant.
func noCompletion(c *cobra.Command, flags ...string) {
	c.ValidArgsFunction = cobra.NoFileCompletions
	for _, f := range flags {
		_ = c.RegisterFlagCompletionFunc(f, cobra.NoFileCompletions) // it fails for a flag that is not there
	}
}

// noArguments refuses any.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%q does not take %q\nSee %q.", c.CommandPath(), args[0], c.CommandPath()+" --help")
	}
	return nil
}

// load finds the home and reads its configuration. With warn, what has a consequence is told on stderr: by what checks the
// configuration and by the daemon, as it is the same every time.
func (s *shell) load(warn bool) (home.Home, *config.Config, error) {
	h, err := home.Find(s.lookup)
	if err != nil {
		return h, nil, usagef("%s", err)
	}
	c, warnings, err := config.Load(h.Config())
	if err != nil {
		return h, nil, err
	}
	for _, w := range warnings {
		if warn {
			fmt.Fprintf(s.err, "warning: %s\n", w)
		}
	}
	return h, c, nil
}

// env is what package app needs, for a command. least is the level below which it does not log, whatever is configured.
func (s *shell) env(command string, least slog.Level) (app.Env, error) {
	h, c, err := s.load(command == "run")
	if err != nil {
		return app.Env{}, err
	}
	level, err := logs.ParseLevel(c.Log.Level)
	if err != nil { // the configuration was validated
		return app.Env{}, err
	}
	if level != slog.LevelDebug {
		level = max(level, least)
	}
	log := logs.New(os.Stderr, s.secrets, logs.Options{
		Level: level, Format: logs.Format(c.Log.Format), Terminal: s.errTTY, Colour: s.colour(s.errTTY),
	})
	return app.Env{
		Home: h, Config: c, Lookup: s.lookup, Environ: os.Environ, Secrets: s.secrets, Log: log, Command: "jetclaw " + command, Version: version().Version,
		Notice: func(text string) { fmt.Fprintf(s.err, "note: %s\n", text) },
	}, nil
}
