package standin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jetclaw/jetclaw/loadtest/product/store"
)

// replay is `jetclaw replay --all --check --json`: it judges nothing.
func replay() int {
	journal, err := store.ReadJournal(context.Background(), filepath.Join(os.Getenv("JETCLAW_HOME"), "data"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	first, code := "", 0
	switch os.Getenv("STANDIN_BUG") {
	case "silent":
		return 0
	case "otherwise":
		code = 1
		first = fmt.Sprintf(`"first":{"kind":"different","cursor":4,"session":%q,"type":"turn.started.v1","service":"turns",`+
			`"differences":[{"field":"data.attempt","then":"1","now":"2"}]},`, journal[3].Session)
	}
	fmt.Printf(`{"ok":%v,"events":%d,"decided":%d,%s"seconds":0.1,"events_per_second":1}`+"\n", code == 0, len(journal), len(journal), first)
	return code
}
