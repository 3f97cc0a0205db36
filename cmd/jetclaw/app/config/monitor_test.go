package config

import (
	"strings"
	"testing"
)

func TestMonitor(t *testing.T) {
	check := func(m Monitor) (problems, warnings string) {
		c := Default()
		c.Monitor = m
		ps, ws := c.Validate("f")
		for _, p := range ps {
			problems += p.Path + ": " + p.Text + "\n"
		}
		for _, w := range ws {
			warnings += w.Path + ": " + w.Text + "\n"
		}
		return problems, warnings
	}
	for _, fine := range []string{"off", "127.0.0.1:9464", "[::1]:0"} {
		if p, w := check(Monitor{Listen: fine}); p+w != "" {
			t.Errorf("%s: %s%s", fine, p, w)
		}
	}
	if p, w := check(Monitor{Listen: ":9464"}); p != "" || !strings.Contains(w, "monitor.listen: who reaches this address reads, without a login") {
		t.Errorf("every interface: %s%s", p, w)
	}
	for _, wrong := range []string{"", "9464", "localhost"} {
		if p, _ := check(Monitor{Listen: wrong}); !strings.Contains(p, "monitor.listen") {
			t.Errorf("%q: %s", wrong, p)
		}
	}
	if p, _ := check(Monitor{Listen: "off", Hosts: []string{"claw.example", "claw.example:80"}}); p != "monitor.hosts[1]: must be a name without a port\n" {
		t.Error(p)
	}
}
