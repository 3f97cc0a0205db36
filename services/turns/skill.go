package turns

import (
	"encoding/json"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// readSkill is the name that the list of skills tells the model (package prompt).
const readSkill = "read_skill"

// skillTool reads a skill. The turns service answers its calls itself: it reads the workspace for the prompt anyway.
var skillTool = toolv1.Tool{ //nolint:gochecknoglobals // a constant
	Name:        readSkill,
	Description: "Read the instructions of a skill by its name.",
	Schema:      json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"name of the skill, as listed"}},"required":["name"]}`),
}

// answerSkills answers the calls that ask for a skill.
func (a *agent) answerSkills(calls []turnv1.Call) {
	for i := range calls {
		c := &calls[i]
		if c.Tool != readSkill || c.Refusal != "" || a.space == nil {
			continue
		}
		var args struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			c.Refusal = "the argument name must be a text"
			continue
		}
		text, err := a.space.Skill(args.Name)
		if err != nil {
			c.Refusal = err.Error()
			continue
		}
		c.Answer = text
	}
}
