package check

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// drains is what a service of jetclaw may take to stop; whoever ends it waits longer.
const drains = 22 * time.Second

func project(t *testing.T) *types.Project {
	t.Helper()
	file := filepath.Join(deployDir, "compose", "compose.yaml")
	options, err := cli.NewProjectOptions([]string{file},
		cli.WithEnv([]string{"JETCLAW_UID=1000", "JETCLAW_GID=1000"}), cli.WithProfiles([]string{"*"}), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Without the user that ./prepare writes down nothing starts: it would be root.
func TestComposeNeedsItsUser(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{filepath.Join(deployDir, "compose", "compose.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := options.LoadProject(t.Context()); err == nil || !strings.Contains(err.Error(), "./prepare") {
		t.Errorf("got %v", err)
	}
}

// services of jetclaw: the targets of the binary.
var targets = []string{"intake", "turns", "tools", "approvals", "builtin", "mcp", "outbox", "conversations"} //nolint:gochecknoglobals // a constant

func TestComposeHasAll(t *testing.T) {
	p := project(t)
	for _, name := range append(slices.Clone(targets), "n1", "n2", "n3", "topology", "cli", "owner", "prometheus", "grafana") {
		if _, ok := p.Services[name]; !ok {
			t.Errorf("there is no service %s", name)
		}
	}
	turns := p.Services["turns"]
	if n := turns.GetScale(); n < 2 {
		t.Errorf("%d processes of turns", n)
	}
}

func TestComposeIsHardened(t *testing.T) {
	for name, s := range project(t).Services {
		bad := func(format string, args ...any) { t.Helper(); t.Errorf(name+": "+format, args...) }
		if !s.ReadOnly {
			bad("its root can be written")
		}
		if !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 {
			bad("capabilities: drops %v, adds %v", s.CapDrop, s.CapAdd)
		}
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			bad("security options %v", s.SecurityOpt)
		}
		if s.User != "1000:1000" {
			bad("runs as %q", s.User)
		}
		if s.Privileged || s.Pid != "" || s.Ipc != "" || s.NetworkMode == "host" || len(s.Devices) > 0 {
			bad("has more of the machine than it needs")
		}
		if s.MemLimit == 0 || s.PidsLimit == 0 {
			bad("no bound of memory (%d) or processes (%d)", s.MemLimit, s.PidsLimit)
		}
		if s.Logging == nil || s.Logging.Options["max-size"] == "" {
			bad("logs without bound")
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) <= drains {
			bad("stop grace %v", s.StopGracePeriod)
		}
		once := name == "topology" || name == "cli" || name == "owner"
		if h := s.HealthCheck; once != (h == nil || h.Disable) {
			bad("health check %v", h)
		}
		if !once && s.Restart != "unless-stopped" {
			bad("restart %q", s.Restart)
		}
		if _, tag, ok := strings.Cut(s.Image, ":"); !ok || tag == "" || tag == "latest" {
			bad("image %q names no version", s.Image)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				bad("port %s is published on %q", port.Published, port.HostIP)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind && strings.Contains(v.Source, "docker.sock") {
				bad("has the socket of the container engine")
			}
		}
		for key, value := range s.Environment {
			if value != nil && *value != "" && slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD"}, func(e string) bool { return strings.HasSuffix(key, e) }) {
				bad("%s stands in the environment: secrets are files", key)
			}
		}
	}
}

// Each has its own user of the bus and no other; the keys of the house are where they are needed only.
func TestComposeSecrets(t *testing.T) {
	p := project(t)
	users := map[string][]string{}
	for name, s := range p.Services {
		for _, ref := range s.Secrets {
			if _, ok := p.Secrets[ref.Source]; !ok {
				t.Errorf("%s: there is no secret %s", name, ref.Source)
			}
			users[ref.Source] = append(users[ref.Source], name)
		}
	}
	for _, name := range targets {
		if got := users[name+".nk"]; !slices.Equal(got, []string{name}) {
			t.Errorf("the key of %s is had by %v", name, got)
		}
	}
	for secret, want := range map[string][]string{
		"admin.nk": {"owner", "topology"}, "cli.nk": {"cli", "owner"}, "approvals.key": {"approvals"}, "http.token": {"intake"}, "http.key": {"intake"}, "mcp.age": {"mcp"},
		"model.key": {"turns"}, "telegram.token": {"intake", "outbox"}, "grafana.password": {"grafana"},
		"n1.key": {"n1"}, "n2.key": {"n2"}, "n3.key": {"n3"}, "approvals.pub": {"approvals", "builtin", "mcp"},
	} {
		got := slices.Sorted(slices.Values(users[secret]))
		if !slices.Equal(got, want) {
			t.Errorf("%s is had by %v, want %v", secret, got, want)
		}
	}
	for secret := range p.Secrets {
		if len(users[secret]) == 0 {
			t.Errorf("nobody has %s", secret)
		}
	}
}

// Who talks to the internet is who has to; the bus and the numbers lead nowhere else.
func TestComposeNetworks(t *testing.T) {
	p := project(t)
	for name, internal := range map[string]bool{"bus": true, "monitoring": true, "out": false, "front": false} {
		if n, ok := p.Networks[name]; !ok || n.Internal != internal {
			t.Errorf("network %s: there %v, internal %v", name, ok, n.Internal)
		}
	}
	for _, name := range []string{"tools", "approvals", "conversations", "topology", "cli", "owner", "n1", "n2", "n3"} {
		if _, ok := p.Services[name].Networks["out"]; ok {
			t.Errorf("%s is on a network that leads out", name)
		}
	}
	for name, s := range p.Services {
		_, onBus := s.Networks["bus"]
		if jet := strings.HasPrefix(s.Image, "jetclaw:"); onBus != (jet || strings.HasPrefix(s.Image, "nats:")) {
			t.Errorf("%s on the bus: %v", name, onBus)
		}
	}
}

// What a container mounts from here is there, or ./prepare makes it.
func TestComposeFiles(t *testing.T) {
	p := project(t)
	made := filepath.Join(prepared(t), "compose")
	base, err := filepath.Abs(filepath.Join(deployDir, "compose"))
	if err != nil {
		t.Fatal(err)
	}
	exists := func(path string) {
		t.Helper()
		rel, err := filepath.Rel(base, path)
		if err != nil {
			t.Fatal(err)
		}
		readable(t, filepath.Join(made, rel))
	}
	for _, s := range p.Secrets {
		exists(s.File)
	}
	for _, c := range p.Configs {
		exists(c.File)
	}
	for _, s := range p.Services {
		for _, v := range s.Volumes {
			exists(v.Source)
		}
	}
}

// The version of NATS is the one that jetclaw has inside, here and in Kubernetes.
func TestImagesAreTheSame(t *testing.T) {
	mod := readFile(t, filepath.Join(repoDir, "go.mod"))
	_, rest, _ := strings.Cut(mod, "github.com/nats-io/nats-server/v2 v")
	version, _, _ := strings.Cut(rest, "\n")
	want := "nats:" + strings.TrimSpace(version) + "-alpine"
	if got := project(t).Services["n1"].Image; got != want {
		t.Errorf("compose has %s, want %s", got, want)
	}
	for _, o := range objects(t, "base") {
		if o.kind == "StatefulSet" && !strings.Contains(o.yaml, "image: "+want) {
			t.Errorf("Kubernetes has not %s", want)
		}
	}
}
