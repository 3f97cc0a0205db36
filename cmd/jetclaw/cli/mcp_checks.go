package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// static checks what can be without connecting.
func (f *mcpFile) static(g *mcpDiagnosis, d definition.Definition) {
	for _, i := range slices.Concat(d.Validate(), d.Advice()) {
		g.sayf(i.Level, "%s", i.Message)
	}
	f.references(g, d)
	if g.OK && d.TransportName() == definition.Stdio && d.Command != "" {
		if err := app.LookCommand(f.e, d); err != nil {
			g.sayf("error", "%s", err)
		}
	}
	for _, file := range []struct{ field, path string }{
		{"caCert", d.CACert}, {"clientCert", d.ClientCert}, {"clientKey", d.ClientKey},
	} {
		if file.path == "" {
			continue
		}
		if err := readable(f.e.Home.Resolve(file.path)); err != nil {
			g.sayf("error", "%s: %s", file.field, err)
		}
	}
	for _, root := range d.Roots {
		if i, err := os.Stat(root); err != nil || !i.IsDir() {
			g.sayf("warning", "roots: %s is no folder on this machine", root)
		}
	}
}

// readable says why a file cannot be read.
func readable(path string) error {
	i, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !i.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return file.Close()
}

// references checks that what a definition refers to can be had, in the environment of this command.
func (f *mcpFile) references(g *mcpDiagnosis, d definition.Definition) {
	level, where := "error", ""
	if f.running() { // what counts is the environment of that one, which says so itself
		level, where = "warning", " here; the running jetclaw may have it"
	}
	r := f.resolver()
	for _, ref := range d.References() {
		if name, ok := variable(ref); ok {
			if value, _ := f.e.Lookup(name); strings.TrimSpace(value) == "" {
				g.sayf(level, "env:%s is not set%s", name, where)
			}
			continue
		}
		switch _, warning, err := r.Value(ref); {
		case err != nil:
			g.sayf("error", "%s", err)
		case warning != "":
			g.sayf("warning", "%s", warning)
		}
	}
}

// variable is the environment variable that a reference names.
func variable(ref string) (string, bool) {
	if name, ok := strings.CutPrefix(ref, "env:"); ok {
		return name, true
	}
	name, ok := strings.CutPrefix(ref, "${")
	return strings.TrimSuffix(name, "}"), ok
}

// severalPeople says why more than one person can reach the agents, "" when only the owner can as far as the configuration says.
func severalPeople(e app.Env) string {
	owners := map[string]int{} // by channel: one person has one identity in each
	for _, o := range e.Config.Owners {
		channel, _, _ := strings.Cut(o, ":")
		owners[channel]++
	}
	for _, channel := range slices.Sorted(maps.Keys(owners)) {
		if owners[channel] > 1 {
			return fmt.Sprintf("there are %d owners of %s", owners[channel], flat(channel))
		}
	}
	bots := e.Config.Bots(e.Lookup)
	for _, name := range slices.Sorted(maps.Keys(bots)) {
		bot := bots[name]
		switch {
		case bot.Access == "open":
			return fmt.Sprintf("everybody can write to the Telegram bot %s", name)
		case len(bot.Groups) > 0:
			return fmt.Sprintf("the Telegram bot %s is in groups", name)
		case bot.Access == "pairing":
			return fmt.Sprintf("whoever is paired can write to the Telegram bot %s", name)
		case len(e.Config.LetIn(bot)) > 1:
			return fmt.Sprintf("%d people can write to the Telegram bot %s", len(e.Config.LetIn(bot)), name)
		}
	}
	return ""
}
