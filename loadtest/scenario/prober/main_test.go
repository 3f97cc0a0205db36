package prober

import (
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
)

func TestMain(m *testing.M) { standin.Main(m) }
