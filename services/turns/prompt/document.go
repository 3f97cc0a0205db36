package prompt

import (
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/offer"
)

// readAttachment is the tool that reads a file which somebody has sent. An executor offers it.
const readAttachment = "read_attachment"

// reader is the name under which a request offers readAttachment, "" when it does not.
func reader(tools []model.Tool, names offer.Names) string {
	name := names.Portable(readAttachment)
	if slices.ContainsFunc(tools, func(t model.Tool) bool { return t.Name == name }) {
		return name
	}
	return ""
}

// documentLine is a file that is no picture, with what the model can do about it: the id is there only where reading makes
// sense, as ids are long, and models try what they are shown.
func (s sight) documentLine(f *messagev1.File) string {
	line := fileLine(f)
	switch {
	case f.Digest == "":
	case s.reader != "" && looksLikeText(f):
		return "[" + line + "; " + s.reader + " " + f.Digest + "]"
	case !telling(f.Kind):
		return "[" + line + "] (it cannot be opened here)"
	}
	return "[" + line + "]"
}

// looksLikeText says whether a file may be text, by its type or by its name: devices know few of the types that there are, and
// send the rest as bytes. What it is shows when it is read.
func looksLikeText(f *messagev1.File) bool {
	kind, _, _ := strings.Cut(strings.ToLower(f.Type), ";")
	kind = strings.TrimSpace(kind)
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+json") || slices.Contains(textTypes, kind) {
		return true
	}
	name := strings.ToLower(strings.TrimSpace(f.Name))
	dot := strings.LastIndexByte(name, '.')
	return dot >= 0 && slices.Contains(textNames, name[dot+1:]) || slices.Contains(bareNames, name)
}

// textTypes are media types of texts that do not say so.
var textTypes = []string{
	"application/json", "application/x-ndjson", "application/jsonl", "application/xml", "application/xhtml", "application/yaml", "application/x-yaml",
	"application/toml", "application/javascript", "application/x-javascript", "application/ecmascript", "application/typescript",
	"application/x-sh", "application/x-shellscript", "application/x-python", "application/x-perl", "application/x-ruby",
	"application/x-php", "application/x-httpd-php", "application/sql", "application/x-sql", "application/x-tex", "application/x-latex", "application/x-subrip",
	"application/x-diff", "application/x-patch", "application/rtf", "application/csv", "application/x-csv", "application/x-bibtex", "message/rfc822",
}

// textNames are how the names of texts end.
var textNames = []string{
	"txt", "text", "md", "markdown", "mdx", "rst", "adoc", "org", "tex", "bib", "rtf", "log", "csv", "tsv", "json", "jsonl", "ndjson", "json5", "geojson",
	"ipynb", "xml", "xsl", "xsd", "svg", "gpx", "kml", "html", "htm", "xhtml", "css", "scss", "less", "yaml", "yml", "toml", "ini", "cfg", "conf", "env",
	"properties", "plist", "srt", "vtt", "sub", "ics", "vcf", "eml", "diff", "patch", "sql", "graphql", "proto", "sh", "bash", "zsh", "fish", "bat", "cmd",
	"ps1", "py", "pyi", "rb", "pl", "php", "lua", "r", "jl", "js", "mjs", "cjs", "jsx", "ts", "tsx", "vue", "svelte", "go", "mod", "rs", "c", "h", "cc", "cpp",
	"cxx", "hpp", "m", "mm", "java", "kt", "kts", "scala", "groovy", "gradle", "clj", "cs", "fs", "vb", "swift", "dart", "ex", "exs", "erl", "hs", "ml", "mli",
	"nim", "zig", "asm", "s", "f90", "pas", "sol", "tf", "hcl", "nix", "cmake", "mk", "lock", "gitignore",
}

// bareNames are texts whose names have no such end.
var bareNames = []string{"readme", "license", "licence", "copying", "authors", "changelog", "notice", "makefile", "dockerfile", "justfile", "gemfile"}
