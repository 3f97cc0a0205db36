package natsconf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Node is one server of a cluster. A text that begins with $ is written as a variable of nats-server, which takes it from the
// environment: one file then serves all nodes.
type Node struct {
	Name    string // required; another one for each node, and always the same for one
	Cluster string // name of the cluster; the same for all nodes
	Listen  string // host:port for clients
	Routes  Routes // to the other nodes; without any it is a server alone
	Monitor string // host:port of /healthz, /jsz, /varz; "" for none
	Store   string // required: folder of the streams
	// MaxStore bounds all streams together, as "50GB"; "" leaves it to nats-server, which takes a share of what the disk has then.
	MaxStore string
	Sync     string // always, or interval
	TLS      TLS
	// Plain allows what crosses a network without TLS.
	Plain bool
	Users []User
	// Public are the keys by user; nil: the file users.conf is included.
	Public map[string]string
}

// Routes connect the nodes of a cluster.
type Routes struct {
	Listen string   // host:port
	To     []string // URLs of all nodes, this one may be among them
	// Advertise is the host:port by which nodes tell each other of this one; "" is its address. With TLS it has to be a name of the
	// certificate: nodes that learn of this one from another before they reach it themselves would try its address for ever.
	Advertise string
}

// TLS are the certificates of a node, for clients and for the other nodes.
type TLS struct {
	CA, Cert, Key string // files
	Verify        bool   // clients need a certificate of the CA, too; nodes always do
}

// Set says whether there is TLS.
func (t TLS) Set() bool { return t.Cert != "" }

// UsersFile is the file of users, as the configuration of a node includes it.
const UsersFile = "users.conf"

// MaxPayload is the largest message, as in the embedded server.
const MaxPayload = 1 << 20

var size = regexp.MustCompile(`^[0-9]+[KMGT]?i?B?$`)

func (n Node) validate() error {
	switch {
	case n.Name == "":
		return errors.New("a node needs a name (--name): streams remember by it who has which copy")
	case n.Store == "":
		return errors.New("a node needs a folder for its streams (--store)")
	case n.Sync != "always" && n.Sync != "interval":
		return fmt.Errorf("--sync %s: must be always or interval", n.Sync)
	case n.MaxStore != "" && !strings.HasPrefix(n.MaxStore, "$") && !size.MatchString(n.MaxStore):
		return fmt.Errorf("--max-store %s: must be a size as 50GB", n.MaxStore)
	case n.TLS.Cert == "" != (n.TLS.Key == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case n.TLS.CA != "" && !n.TLS.Set():
		return errors.New("--tls-ca needs --tls-cert and --tls-key: the node's own")
	case n.TLS.Set() && n.TLS.CA == "" && (len(n.Routes.To) > 0 || n.TLS.Verify):
		return errors.New("--tls-ca is missing: by it a node knows the other nodes, and clients")
	case n.Routes.Listen == "" != (len(n.Routes.To) == 0):
		return errors.New("--cluster-listen and --routes go together")
	case n.Routes.Advertise != "" && len(n.Routes.To) == 0:
		return errors.New("--cluster-advertise goes with --routes")
	case len(n.Routes.To) > 0 && n.Cluster == "":
		return errors.New("a cluster needs a name (--cluster)")
	}
	if n.TLS.Set() || n.Plain {
		return nil
	}
	for _, at := range []string{n.Listen, n.Routes.Listen} {
		if at != "" && !loopback(at) {
			return fmt.Errorf("%s can be reached from other machines: give --tls-ca, --tls-cert and --tls-key, or say --plaintext: "+
				"everything then crosses the network readable, and other nodes are let in without any proof", at)
		}
	}
	return nil
}

func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Text is the configuration file.
func (n Node) Text() (string, error) {
	if err := n.validate(); err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# One node of the bus of a jetclaw (jetclaw nats config). Check it with: nats-server -t -c FILE")
	line("server_name: %s", value(n.Name))
	line("listen: %s", value(n.Listen))
	if n.Monitor != "" {
		line("# Numbers for whoever can reach it, without any question: keep it away from networks.\nhttp: %s", value(n.Monitor))
	}
	line("max_payload: %d", MaxPayload)
	line("# A client that has gone silent is let go after a minute.\nping_interval: \"20s\"\nping_max: 2")
	line("# SIGUSR2 (lame duck) hands the leaders over before the end.\nlame_duck_grace_period: \"2s\"\nlame_duck_duration: \"30s\"\n")
	n.writeStore(line)
	if n.TLS.Set() {
		line("# Clients. Each proves who it is by its nkey; with verify it needs a certificate, too.")
		n.writeTLS(line, "", n.TLS.Verify)
	}
	if len(n.Routes.To) > 0 {
		n.writeRoutes(line)
	}
	if n.Public == nil {
		line("include %q", UsersFile)
	} else {
		b.WriteString(Users(n.Users, n.Public))
	}
	return b.String(), nil
}

func (n Node) writeStore(line func(string, ...any)) {
	line("jetstream {\n  store_dir: %s\n  max_memory_store: 64MB", value(n.Store))
	if n.MaxStore != "" {
		line("  max_file_store: %s", n.MaxStore)
	}
	if n.Sync == "always" {
		line("  # What is acknowledged is on the disk of a majority: nothing is lost when all nodes lose power at once.\n" +
			"  # \"2m\" is faster (several times, where a sync is slow) and trusts that this does not happen: then the last two minutes are lost.\n" +
			"  sync_interval: always\n}\n")
		return
	}
	line("  # What is acknowledged is with a majority, and on their disks within two minutes: nothing is lost when one node loses power.\n" +
		"  # When a majority does at once, the last two minutes are lost. \"always\" keeps them, and is slower.\n" +
		"  sync_interval: \"2m\"\n}\n")
}

func (n Node) writeTLS(line func(string, ...any), indent string, verify bool) {
	line("%stls {", indent)
	line("%s  cert_file: %s\n%s  key_file: %s", indent, value(n.TLS.Cert), indent, value(n.TLS.Key))
	if n.TLS.CA != "" {
		line("%s  ca_file: %s", indent, value(n.TLS.CA))
	}
	line("%s  verify: %v\n%s  timeout: 10\n%s}", indent, verify, indent, indent)
	if indent == "" {
		line("")
	}
}

func (n Node) writeRoutes(line func(string, ...any)) {
	line("# The other nodes. With TLS each has to show a certificate of the CA: whoever is a node has everything.")
	line("cluster {\n  name: %s\n  listen: %s", value(n.Cluster), value(n.Routes.Listen))
	if n.Routes.Advertise != "" {
		line("  # As nodes tell each other of this one: a name that stands in its certificate.\n  advertise: %s", value(n.Routes.Advertise))
	}
	line("  # Clients know all nodes from their own configuration, by names that stand in the certificates.\n  no_advertise: true")
	if to := n.Routes.To; len(to) == 1 && strings.HasPrefix(to[0], "$") {
		line("  routes: %s", to[0])
	} else {
		line("  routes: [")
		for _, url := range to {
			line("    %s", value(url))
		}
		line("  ]")
	}
	if n.TLS.Set() {
		n.writeTLS(line, "  ", true)
	}
	line("}\n")
}

// value quotes a text, unless it is a variable.
func value(text string) string {
	if strings.HasPrefix(text, "$") {
		return text
	}
	return strconv.Quote(text)
}
