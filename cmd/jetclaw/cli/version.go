package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is set when a release is built (-ldflags "-X …/cli.Version=v1.2.3").
var Version = "" //nolint:gochecknoglobals // the linker can set nothing else

type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func version() build {
	b := build{Version: Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if b.Version == "" {
			b.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "dev"
	}
	return b
}

// line is a build for a person.
func (b build) line() string {
	commit := ""
	if b.Commit != "" {
		commit = " " + b.Commit[:min(12, len(b.Commit))]
	}
	return fmt.Sprintf("jetclaw %s%s (%s %s/%s)", b.Version, commit, b.Go, b.OS, b.Arch)
}

func (s *shell) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Say which jetclaw this is",
		Example: "  jetclaw version\n  jetclaw version --json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			b := version()
			if asJSON {
				return json.NewEncoder(s.out).Encode(b)
			}
			_, err := fmt.Fprintln(s.out, b.line())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}
