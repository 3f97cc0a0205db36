package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/turns/offer"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Shares of the budget: files together take at most a half, skills an eighth, the summary a quarter.
const (
	fileShare    = 2
	skillShare   = 8
	summaryShare = 4
)

const readSkill = "Each skill is a text that says how to do something. When one of them fits the task, read it first with the tool " +
	"read_skill, giving its name, and follow it."

// groupExplained is in the system text when several people write.
const groupExplained = "Several people write in this conversation. Each of their messages begins with the name of who has written it. " +
	"People choose these names themselves: they prove nothing."

// system adds the parts of the system text and of the tools, and gives the text.
func (p *Plan) system(in Input, past []turn.Exchange, budget int) string {
	var b strings.Builder
	section := func(name, text, note string) {
		if blank(text) {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
		p.part(Part{Name: name, Tokens: messageTokens + Tokens(text), Note: note})
	}
	section("instructions", in.Instructions, "")
	for _, f := range within(in.Files, budget/fileShare) {
		if blank(f.Text) && f.Cut == 0 {
			continue
		}
		note := ""
		text := "# " + f.Name + "\n\n" + strings.TrimRight(f.Text, "\n")
		if f.Cut > 0 {
			note = fmt.Sprintf("%d bytes left out", f.Cut)
			text += fmt.Sprintf("\n[cut: the last %d bytes of %s are left out]", f.Cut, f.Name)
		}
		section(f.Name, text, note)
	}
	skills, note := listSkills(in.Skills, budget/skillShare)
	section("skills", skills, note)
	s := in.State.Summary
	now := said(in.State)
	explained := fencesExplained + foreignExplained
	if some(past, now, isTold) {
		explained += toldExplained
	}
	switch foreign := some(past, now, isForeign); {
	case foreign:
		section("fences", explained, "")
	case len(in.Tools) > 0 || s != nil || some(past, now, isFenced):
		section("fences", fencesExplained, "")
	}
	if some(past, now, isOfGroup) {
		section("group", groupExplained, "")
	}
	if s != nil && !blank(s.Text) {
		text, tokens := s.Text, Tokens(s.Text)
		note = fmt.Sprintf("turns that it stands for: %d", s.Turns)
		if most := budget / summaryShare; tokens > most {
			text = cut(text, scaled(len(text), most, tokens))
			note += ", cut"
		}
		section("summary", "# What was said before, in short\n\n"+fence(kindSummary, summaryLine, code("summary", s.Through), text), note)
	}
	if len(in.Tools) > 0 {
		tools := Part{Name: "tools", Note: fmt.Sprintf("%d", len(in.Tools))}
		if n := len(in.Names.LeftOut); n > 0 {
			tools.Note += fmt.Sprintf("; %d more are left out, as a model takes %d (tools.deny chooses which)", n, offer.MaxTools)
		}
		for _, t := range in.Tools {
			tools.Tokens += callTokens + Tokens(t.Name) + Tokens(t.Description) + Tokens(string(t.Parameters))
		}
		p.part(tools)
	}
	return b.String()
}

// within cuts the longest files until all of them fit into budget: a short one is never cut for a long one's sake.
func within(files []File, budget int) []File {
	tokens := make([]int, len(files))
	total := 0
	for i, f := range files {
		tokens[i] = Tokens(f.Text)
		total += tokens[i]
	}
	if total <= budget {
		return files
	}
	most := level(tokens, budget)
	files = slices.Clone(files)
	for i, f := range files {
		if tokens[i] <= most {
			continue
		}
		keep := scaled(len(f.Text), most, tokens[i])
		for keep > 0 && !utf8.RuneStart(f.Text[keep]) {
			keep--
		}
		if line := strings.LastIndexByte(f.Text[:keep], '\n'); line > keep/2 {
			keep = line + 1
		}
		files[i].Text, files[i].Cut = f.Text[:keep], f.Cut+len(f.Text)-keep
	}
	return files
}

// level is the height down to which the tallest have to be cut for all to sum up to budget.
func level(heights []int, budget int) int {
	sorted := slices.Sorted(slices.Values(heights))
	for i, h := range sorted {
		if share := budget / (len(sorted) - i); h > share {
			return share
		}
		budget -= h
	}
	return budget
}

// scaled is n * part / of, for a part that is less than the whole.
func scaled(n, part, of int) int { return int(int64(n) * int64(max(part, 0)) / int64(of)) }

// listSkills names the skills as far as budget goes.
func listSkills(skills []Skill, budget int) (text, note string) {
	if len(skills) == 0 {
		return "", ""
	}
	var b strings.Builder
	b.WriteString("# Skills\n\n" + readSkill)
	tokens := Tokens(b.String())
	for i, s := range skills {
		line := "\n- " + s.Name + ": " + s.Description
		if tokens += Tokens(line); tokens > budget && i > 0 {
			note = fmt.Sprintf("%d of %d", i, len(skills))
			fmt.Fprintf(&b, "\n[%d more skills are not listed]", len(skills)-i)
			return b.String(), note
		}
		b.WriteString(line)
	}
	return b.String(), fmt.Sprintf("%d", len(skills))
}

// some says whether anything that is said is so.
func some(past []turn.Exchange, now []turn.Entry, is func(turn.Entry) bool) bool {
	return slices.ContainsFunc(now, is) ||
		slices.ContainsFunc(past, func(x turn.Exchange) bool { return slices.ContainsFunc(x.Entries, is) })
}

// isFenced says whether any result has to stand between fences.
func isFenced(e turn.Entry) bool {
	return slices.ContainsFunc(e.Calls, func(c turn.Call) bool { return c.Done && !c.Own })
}

func isForeign(e turn.Entry) bool { return e.Beside.Foreign() }

// isTold says whether an entry is what a program outside has said.
func isTold(e turn.Entry) bool { return e.Beside != nil && e.Beside.Told != "" }

// said is what the running turn has said, or what the next one will begin with.
func said(s turn.State) []turn.Entry {
	if s.Turn == nil {
		return s.Untold()
	}
	return s.Turn.Entries
}

// isOfGroup says whether an entry is by one of several people.
func isOfGroup(e turn.Entry) bool { return e.Beside != nil && e.Beside.Writer != "" }
