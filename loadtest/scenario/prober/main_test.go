package prober

import (
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/standin"
)

func TestMain(m *testing.M) { standin.Main(m) }
