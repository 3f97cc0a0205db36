package fakemodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// call is one tool call that the model asks for.
type call struct {
	id        string
	tool      string
	arguments string // a JSON object
}

const maxRounds = 20

// UnknownTool is what "!rounds" asks for; nobody has it.
const UnknownTool = "no_such_tool"

var (
	roundsWish = regexp.MustCompile(`!rounds (\d{1,3})\b`)
	toolWish   = regexp.MustCompile(`!tool ([A-Za-z0-9_-]{1,64})`)
)

// rounds is how many model calls the person wants the turn to have.
func rounds(text string) int {
	most := 1
	for _, m := range roundsWish.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1]) // of three digits at most
		most = max(most, n)
	}
	return min(most, maxRounds)
}

// wishes are the calls that a person asks for, in order: `!tool NAME {arguments}`. Without arguments there are none, and
// what stands within those of one is not another.
func wishes(text string) (all []call) {
	for len(all) < maxRounds {
		at := toolWish.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		c := call{tool: text[at[2]:at[3]], arguments: "{}"}
		text = text[at[1]:]
		if rest := strings.TrimLeft(text, " "); strings.HasPrefix(rest, "{") {
			var raw json.RawMessage
			d := json.NewDecoder(strings.NewReader(rest))
			if d.Decode(&raw) == nil {
				c.arguments, text = string(raw), rest[d.InputOffset():]
			}
		}
		all = append(all, c)
	}
	return all
}

// next is the call that the model makes after it has made some already; nil when it answers. Each of "!rounds" has other
// arguments: a call that fails again and again in the same way would end the turn.
func next(text string, made int) *call {
	all := wishes(text)
	if made < len(all) {
		return &all[made]
	}
	if made < rounds(text)-1 {
		return &call{tool: UnknownTool, arguments: fmt.Sprintf(`{"why":"to have round %d"}`, made+2)}
	}
	return nil
}
