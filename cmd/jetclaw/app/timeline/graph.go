package timeline

import (
	"fmt"
	"strings"
	"unicode"
)

// MermaidEdges is how many arrows Mermaid draws before it refuses a graph, unless it is told otherwise.
const MermaidEdges = 500

// Mermaid is the Timeline as a flowchart, and how many arrows it has: a node for each event, an arrow from what led to it, a box
// around each turn. Texts cannot break out of their labels: everything but letters and digits stands in them as a number.
func (t Timeline) Mermaid() (chart string, edges int) {
	g := &graph{nodes: map[uint64]bool{}}
	t.each(func(e *Entry) {
		if e.Cursor > 0 {
			g.nodes[e.Cursor] = true
		}
	})
	g.b.WriteString("flowchart TD\n")
	for _, e := range t.Entries {
		g.entry(e, nil, 1)
	}
	for i, w := range t.Waiting {
		fmt.Fprintf(&g.b, "  w%d([\"%s\"])\n", i+1, label("waits for "+w.What))
		if g.nodes[w.Cursor] {
			g.edge(fmt.Sprintf("e%d -.-> w%d", w.Cursor, i+1))
		}
	}
	for _, e := range g.edges {
		g.b.WriteString("  " + e + "\n")
	}
	return g.b.String(), len(g.edges)
}

type graph struct {
	b     strings.Builder
	nodes map[uint64]bool // cursors that are shown
	edges []string
	boxes int
	holes int
}

func (g *graph) edge(e string) { g.edges = append(g.edges, e) }

func (g *graph) entry(e, parent *Entry, depth int) {
	pad := strings.Repeat("  ", depth)
	switch f := e.Facts.(type) {
	case *Turn:
		g.boxes++
		fmt.Fprintf(&g.b, "%ssubgraph t%d [\"%s\"]\n", pad, g.boxes, label(fmt.Sprintf("turn %d ", f.Number)+turnText(e, f)))
		for _, c := range e.Entries {
			g.entry(c, e, depth+1)
		}
		g.b.WriteString(pad + "end\n")
		return
	case *Hole:
		g.holes++
		fmt.Fprintf(&g.b, "%sh%d{{\"%s\"}}\n", pad, g.holes, label(fmt.Sprintf("hole: event %d is missing", f.Missing)))
		g.edge(fmt.Sprintf("h%d --> e%d", g.holes, f.Above))
		return
	default: // its events are the nodes
	}
	if e.Cursor > 0 {
		fmt.Fprintf(&g.b, "%se%d[\"%s\"]\n", pad, e.Cursor, label(nodeText(e, parent)))
		if g.nodes[e.Cause] {
			g.edge(fmt.Sprintf("e%d --> e%d", e.Cause, e.Cursor))
		}
	}
	for _, c := range e.Entries {
		g.entry(c, e, depth)
	}
}

// nodeText is what a node says: the first of a group what the group says, the others what they say themselves.
func nodeText(e, parent *Entry) string {
	head := fmt.Sprintf("%d ", e.Cursor)
	if parent != nil && parent.Cursor == 0 && parent.Kind != TurnKind && parent.Entries[0] == e {
		switch f := parent.Facts.(type) {
		case *Round:
			return head + fmt.Sprintf("round %d: ", f.Round) + roundText(parent, f)
		case *Call:
			return head + "call " + f.Tool + " " + callText(parent, f)
		case *Approval:
			return head + "approval " + approvalText(parent, f, f.Expires)
		case *Delivery:
			return head + "delivery " + deliveryText(parent, f)
		case *Compaction:
			return head + "compaction: " + compactionText(parent, f)
		case *Message, *Turn, *Hole:
		}
	}
	if e.Kind == MessageKind || e.Kind == ControlKind {
		return head + string(e.Kind) + " " + e.Text
	}
	return head + strings.TrimSuffix(e.Type, ".v1") + " " + e.Text
}

// labelled is how many characters of a text a node shows.
const labelled = 80

// harmless are the characters beside letters and digits that mean nothing to Mermaid within quotes, wherever they stand.
const harmless = " ,.()/-+"

// label is a text as Mermaid shows it between double quotes. Its entity codes (#35;) are decoded after all parsing. Not even a
// colon stands for itself: Mermaid treats lines with "style…:" in a way of its own.
func label(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if n++; n == labelled {
			b.WriteString("#8230;")
			break
		}
		switch {
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // it would drive a terminal
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(harmless, r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
