package peer_test

import (
	"os"
	"slices"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

func TestProcessesAreCounted(t *testing.T) {
	p, err := peer.Start(t.Context(), peer.OverHTTP)
	if err != nil {
		t.Fatal(err)
	}
	all, err := daemon.DescendantsOf(os.Getpid())
	if err != nil || len(all) == 0 {
		t.Errorf("%v, %v", all, err)
	}
	if up, err := daemon.DescendantsOf(os.Getppid()); err != nil || !slices.Contains(up, all[0]) {
		t.Errorf("%v, %v", up, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if after, err := daemon.DescendantsOf(os.Getpid()); err != nil || len(after) >= len(all) {
		t.Errorf("%v, %v", after, err)
	}
}
