package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
)

// eventKinds are all types of events without their versions, and a pattern for those of each noun.
func eventKinds() (kinds, nouns []string) {
	k, n := map[string]bool{}, map[string]bool{}
	for _, t := range registry.All() {
		kind := envelope.KindOf(t.Name)
		noun, _, _ := strings.Cut(kind, ".")
		k[kind], n[noun+".*"] = true, true
	}
	return slices.Sorted(maps.Keys(k)), slices.Sorted(maps.Keys(n))
}

// eventChannels are those that people talk through; house is that of the service's own records.
func eventChannels() []string { return []string{"terminal", "telegram", "http", "house"} }

// agentNames are the agents of a configuration.
func agentNames(c *config.Config) []string {
	names := map[string]bool{config.MainAgent: true}
	for name := range c.Agents {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// noteUnknownTypes tells of patterns that no type known here fits. They are no wrong calls: a journal may have events of a newer
// version.
func (s *shell) noteUnknownTypes(patterns []string) {
	kinds, nouns := eventKinds()
	all := registry.All()
	for _, p := range patterns {
		if slices.ContainsFunc(all, func(t registry.Type) bool { return anyType([]string{p}, t.Name) }) {
			continue
		}
		hint := "there are " + strings.Join(nouns, ", ")
		if n := suggest.Nearest(p, slices.Concat(kinds, nouns)); n != "" {
			hint = fmt.Sprintf("did you mean %q?", n)
		}
		fmt.Fprintf(s.err, "note: no type of event that is known here fits %q; %s\n", p, hint)
	}
}

// noteUnknownNames tells who follows of names that nothing may ever fit; a journal also has events of agents that are no longer
// configured.
func (s *shell) noteUnknownNames(w wanted, c *config.Config) {
	if agents := agentNames(c); w.agent != "" && !slices.Contains(agents, w.agent) {
		fmt.Fprintf(s.err, "note: the configuration has no agent %q; %s\n", w.agent, suggest.Hint(w.agent, agents))
	}
	if w.channel != "" && !slices.Contains(eventChannels(), w.channel) {
		fmt.Fprintf(s.err, "note: no channel is called %q; %s\n", w.channel, suggest.Hint(w.channel, eventChannels()))
	}
}

// completeEvents offers what is known: types, agents, channels.
func (s *shell) completeEvents(c *cobra.Command) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	_ = c.RegisterFlagCompletionFunc("type", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		kinds, nouns := eventKinds()
		return append(nouns, kinds...), noFiles
	})
	_ = c.RegisterFlagCompletionFunc("agent", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		_, conf, err := s.load(false)
		if err != nil {
			return nil, noFiles
		}
		return agentNames(conf), noFiles
	})
	_ = c.RegisterFlagCompletionFunc("channel", cobra.FixedCompletions(eventChannels(), noFiles))
}
