package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// anchorsOf are the anchors of a document's headings, as the hosts of repositories make them.
func anchorsOf(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(m[1])) {
			switch {
			case r == ' ':
				b.WriteRune('-')
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
				b.WriteRune(r)
			}
		}
		all = append(all, b.String())
	}
	return all
}

var (
	documents = []string{"README.md", "RUNBOOK.md"} //nolint:gochecknoglobals // a constant
	code      = regexp.MustCompile("(?s)```sh\n(.*?)```|`([^`\n]+)`")
	link      = regexp.MustCompile(`\]\(([^)#]+)\)`)
	ours      = regexp.MustCompile(`(?:^|[ /(])(?:jc|jetclaw|docker compose run --rm (?:cli|owner)) ((?:-?-?[A-Za-z0-9./:=…*,$()+%-]+ ?)+)`)
	word      = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// piecesOf are the commands of a document: lines of its blocks of shell, and what stands between backquotes.
func piecesOf(text string) []string {
	var all []string
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(m[1] + m[2] + "\n") {
			line, _, _ = strings.Cut(line, " #")
			for _, part := range regexp.MustCompile(`&&|;|\||>`).Split(line, -1) {
				if part = strings.TrimSpace(part); part != "" {
					all = append(all, part)
				}
			}
		}
	}
	return all
}

// TestCommandsExist asks the binary for the help of each command that a document tells a reader to type, and for its flags.
func TestCommandsExist(t *testing.T) {
	home := t.TempDir()
	asked := 0
	for _, name := range documents {
		for _, piece := range piecesOf(readFile(t, filepath.Join(deployDir, name))) {
			m := ours.FindStringSubmatch(piece)
			if m == nil || strings.HasPrefix(piece, "docker build") || strings.HasPrefix(piece, "sudo") || strings.HasPrefix(piece, "kubectl") || strings.HasPrefix(piece, "alias") {
				continue
			}
			var path, flags []string
			for i, w := range strings.Fields(m[1]) {
				switch {
				case strings.HasPrefix(w, "-"):
					flag, _, _ := strings.Cut(w, "=")
					flags = append(flags, flag)
				case len(flags) == 0 && word.MatchString(w) && len(path) == i:
					path = append(path, w)
				}
			}
			if len(path) == 0 {
				continue
			}
			asked++
			help, err := jetclawIn(t, home, append(slices.Clone(path), "--help")...)
			usage := "jetclaw " + strings.Join(path, " ")
			if err != nil || !strings.Contains(help, "\n  "+usage+" ") && !strings.Contains(help, "\n  "+usage+"\n") {
				t.Errorf("%s: %q: there is no command %q", name, piece, usage)
				continue
			}
			for _, f := range flags {
				if !regexp.MustCompile(`(?m)(^|\s)` + regexp.QuoteMeta(f) + `\b`).MatchString(help) {
					t.Errorf("%s: %q: %q has no flag %s", name, piece, usage, f)
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d commands were found", asked)
	}
}

var composed = regexp.MustCompile(`docker compose (?:[a-z-]+) (.*)`)

// TestNamesInDocuments: files, folders, services and objects that the documents name are there.
func TestNamesInDocuments(t *testing.T) {
	services := project(t).Services
	inCluster := map[string]bool{}
	for _, o := range objects(t, "base") {
		inCluster[strings.ToLower(o.kind)+"/"+o.name] = true
	}
	inCluster["job/topology"] = true
	for _, name := range documents {
		text := readFile(t, filepath.Join(deployDir, name))
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(deployDir, m[1])); err != nil {
				t.Errorf("%s: link: %v", name, err)
			}
		}
		for _, piece := range piecesOf(text) {
			if m := composed.FindStringSubmatch(piece); m != nil {
				for w := range strings.FieldsSeq(m[1]) {
					if strings.HasPrefix(w, "/") { // exec SERVICE COMMAND …
						break
					}
					if _, ok := services[w]; !ok && word.MatchString(w) && !strings.Contains(piece, "run --rm") {
						t.Errorf("%s: %q: there is no service %s", name, piece, w)
					}
				}
			}
			if !strings.HasPrefix(piece, "kubectl") {
				continue
			}
			words := strings.Fields(piece)
			for i, w := range words {
				if kind, what, ok := strings.Cut(w, "/"); ok && slices.Contains([]string{"deployment", "statefulset", "job"}, kind) && what != "NAME" && !inCluster[w] {
					t.Errorf("%s: %q: there is no %s", name, piece, w)
				}
				if w == "-k" && i+1 < len(words) {
					if _, err := os.Stat(filepath.Join(repoDir, words[i+1], "kustomization.yaml")); err != nil {
						t.Errorf("%s: %q: %v", name, piece, err)
					}
				}
			}
		}
	}
}

// TestSecretsAreExplained: each Secret and ConfigMap that a manifest refers to and does not bring is made in the README.
func TestSecretsAreExplained(t *testing.T) {
	text := readFile(t, filepath.Join(deployDir, "README.md"))
	for _, folder := range []string{"base", "topology"} {
		for name, pod := range pods(objects(t, folder)) {
			for _, secret := range secretsOf(pod) {
				user, isUser := strings.CutPrefix(secret, "bus-")
				switch {
				case isUser && regexp.MustCompile(`for u in [a-z ]*\b`+user+`\b`).MatchString(text):
				case regexp.MustCompile(`create secret (generic|tls) ` + secret + ` `).MatchString(text):
				default:
					t.Errorf("%s: %s: README does not make the Secret %s", folder, name, secret)
				}
			}
		}
	}
	for _, config := range []string{"bus-keys", "bus-ca", "approvals-public"} {
		if !strings.Contains(text, "create configmap "+config+" ") {
			t.Errorf("README does not make the ConfigMap %s", config)
		}
	}
}
