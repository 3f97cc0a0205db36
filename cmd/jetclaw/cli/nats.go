package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/natsconf"
)

func (s *shell) natsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "nats",
		Short: "Make the configuration of a NATS cluster to run on",
		Long: `Each service has a user of its own on the bus, with an nkey and the least permissions that it needs. The embedded server
makes all that by itself; a cluster of yours gets it from here. Nothing of it needs a home or a running jetclaw.

  1. jetclaw nats keys DIR     one seed a user; prints the public keys
  2. jetclaw nats config …     the configuration of each node, with these users
  3. nats-server -c FILE       three of them; then jetclaw topology apply, then jetclaw run --target X --nats URL --creds DIR`,
		Example: `  jetclaw nats keys /etc/jetclaw/keys > keys.conf
  jetclaw nats permissions --user turns
  jetclaw nats config --name n1 --keys keys.conf --store /var/lib/nats > nats.conf`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.natsPermissions(), s.natsKeys(), s.natsConfig())
	noCompletion(c)
	return c
}

func (s *shell) natsPermissions() *cobra.Command {
	var asJSON, asConf bool
	var only string
	c := &cobra.Command{
		Use:   "permissions",
		Short: "Show what each service may do on the bus",
		Long: `Prints which subjects each user of the bus may publish and subscribe to, derived from what its service declares. This is
the table of the embedded server, too. Nobody but admin, as which no service runs, may create, change or delete a stream or a
consumer, or purge; each may append its own kinds of events only, and read its own replies only.

With --conf it is a file for nats-server, with public keys by variables (NKEY_TURNS), which it takes from keys.conf beside it.
With --json it prints one object with users: user, publish, deny, subscribe, respond.`,
		Example: `  jetclaw nats permissions --user mcp
  jetclaw nats permissions --conf > users.conf`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			users := app.BusUsers()
			if only != "" {
				users = slices.DeleteFunc(users, func(u natsconf.User) bool { return u.Name != only })
			}
			switch {
			case len(users) == 0:
				return usagef("the bus has no user %q; %s", only, suggest.Hint(only, busUserNames()))
			case asJSON && asConf:
				return usagef("--json or --conf, not both")
			case asJSON:
				return s.writeJSON(permissionsOf(users))
			case asConf:
				_, err := io.WriteString(s.out, natsconf.Users(users, nil))
				return err
			}
			return s.showPermissions(users)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.Flags().BoolVar(&asConf, "conf", false, "the authorization block of a nats-server")
	c.Flags().StringVar(&only, "user", "", "of one user only")
	noCompletion(c)
	_ = c.RegisterFlagCompletionFunc("user", cobra.FixedCompletions(busUserNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func busUserNames() []string {
	var names []string
	for _, u := range app.BusUsers() {
		names = append(names, u.Name)
	}
	return names
}

// permissionList is what `nats permissions --json` prints.
type permissionList struct {
	Users []permissionEntry `json:"users"`
}

type permissionEntry struct {
	User      string   `json:"user"`
	Publish   []string `json:"publish"`
	Deny      []string `json:"deny"` // of what it may publish
	Subscribe []string `json:"subscribe"`
	Respond   bool     `json:"respond"` // always false: it answers the inboxes that Publish names
}

func permissionsOf(users []natsconf.User) permissionList {
	list := permissionList{Users: []permissionEntry{}}
	for _, u := range users {
		p := u.Permissions
		list.Users = append(list.Users, permissionEntry{
			User: u.Name, Publish: slices.Concat([]string{}, p.Publish), Deny: slices.Concat([]string{}, p.Deny),
			Subscribe: slices.Concat([]string{}, p.Subscribe),
		})
	}
	return list
}

func (s *shell) showPermissions(users []natsconf.User) error {
	var b strings.Builder
	for i, u := range users {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", u.Name)
		for _, part := range []struct {
			verb     string
			subjects []string
		}{{"publish", u.Permissions.Publish}, {"never", u.Permissions.Deny}, {"subscribe", u.Permissions.Subscribe}} {
			for _, subj := range part.subjects {
				fmt.Fprintf(&b, "  %-9s  %s\n", part.verb, subj)
			}
		}
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

func (s *shell) natsKeys() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "keys DIR",
		Short: "Make a key for each user of the bus",
		Long: `Makes one file USER.nk (0600) in DIR for each user of the bus that has none there yet, and prints the public keys as a file
for nats-server (keys.conf). Seeds are never printed. A service needs its own file only, given by --creds; admin.nk is for
"jetclaw topology apply", cli.nk for the commands of a person, bridge.nk for "jetclaw mcp serve".

To replace a key that may have leaked: remove its file, run this again, put the new keys.conf in place and reload the servers
(nats-server --signal reload), then restart the service.`,
		Example: "  jetclaw nats keys /etc/jetclaw/keys > keys.conf\n  jetclaw nats keys ./keys --json",
		Args:    oneFolder,
		RunE: func(_ *cobra.Command, args []string) error {
			public, err := app.MakeBusKeys(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return s.writeJSON(map[string]any{"keys": public})
			}
			_, err = io.WriteString(s.out, natsconf.Keys(app.BusUsers(), public))
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object with keys, by user")
	folderCompletion(c)
	return c
}

// defaultMaxStore is a little more than all bounds of a topology on a cluster together. Without it nats-server takes three quarters of what the
// disk has at that start, which may be less.
const defaultMaxStore = "16GB"

func (s *shell) natsConfig() *cobra.Command {
	n := natsconf.Node{Sync: "always"}
	var keys string
	c := &cobra.Command{
		Use:   "config",
		Short: "Print the configuration of one NATS server",
		Long: `Prints the whole configuration of one nats-server: a node of a cluster with --routes, else a server alone. With --keys the
users are in it; without, it includes users.conf (jetclaw nats permissions --conf), which includes keys.conf (jetclaw nats keys).

A value that begins with $ is a variable, which nats-server takes from its environment: one file then serves all nodes.

With certificates clients and nodes talk TLS, and nodes have to show one of the same CA. Without, only loopback is listened on,
unless --plaintext says that everything may cross the network readable.

--max-store has to hold what all streams together are bounded to, 14.6 GB unless bus.max_bytes says else for the journal (10.7 GB of these),
and the disk has to have it: a full stream says so and goes on, a full disk stops its node.

--sync always (the default) has what is acknowledged on the disks of a majority. --sync interval is faster, and loses the last
two minutes when a majority of the nodes loses power at once.`,
		Example: `  jetclaw nats config --name n1 --listen 0.0.0.0:4222 --cluster-listen 0.0.0.0:6222 --cluster-advertise n1:6222 \
    --routes tls://n1:6222,tls://n2:6222,tls://n3:6222 --tls-ca ca.pem --tls-cert n1.pem --tls-key n1-key.pem \
    --keys keys.conf --store /var/lib/nats > n1.conf
  jetclaw nats config --name alone --keys ./keys --store ./data > nats.conf && nats-server -t -c nats.conf
  jetclaw nats config --name '$NATS_NAME' --routes '$NATS_ROUTES' --cluster-listen 0.0.0.0:6222 … > nats.conf`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			n.Users = app.BusUsers()
			if keys != "" {
				var err error
				if n.Public, err = app.BusKeys(keys); err != nil {
					return err
				}
			}
			text, err := n.Text()
			if err != nil {
				return usagef("%s", err)
			}
			_, err = io.WriteString(s.out, text)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&n.Name, "name", "", "name of the node: each another one, always the same")
	f.StringVar(&n.Cluster, "cluster", "jetclaw", "name of the cluster")
	f.StringVar(&n.Listen, "listen", "127.0.0.1:4222", "host:port for clients")
	f.StringVar(&n.Routes.Listen, "cluster-listen", "", "host:port for the other nodes")
	f.StringVar(&n.Routes.Advertise, "cluster-advertise", "", "host:port by which nodes tell each other of this one: with TLS, a name of its certificate")
	f.StringSliceVar(&n.Routes.To, "routes", nil, "URLs of all nodes, with commas: nats://host:6222")
	f.StringVar(&n.Monitor, "monitor", "127.0.0.1:8222", `host:port of the server's own numbers (/healthz, /jsz); "" for none`)
	f.StringVar(&n.Store, "store", "", "folder of the streams")
	f.StringVar(&n.MaxStore, "max-store", defaultMaxStore, `bound of all streams together; the disk must have it`)
	f.StringVar(&n.Sync, "sync", n.Sync, "always, or interval")
	f.StringVar(&n.TLS.CA, "tls-ca", "", "certificates of the CA that clients and nodes are known by")
	f.StringVar(&n.TLS.Cert, "tls-cert", "", "certificate of the node, for clients and nodes")
	f.StringVar(&n.TLS.Key, "tls-key", "", "its key")
	f.BoolVar(&n.TLS.Verify, "tls-verify", false, "clients need a certificate of the CA, too")
	f.BoolVar(&n.Plain, "plaintext", false, "listen beyond loopback without TLS")
	f.StringVar(&keys, "keys", "", "folder with the seeds, or file with the public keys")
	noCompletion(c)
	return c
}
