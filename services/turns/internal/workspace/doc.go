// Package workspace reads an agent's workspace: a folder of a person's own files that every request begins with, and of
// skills that are offered by name.
//
//	AGENTS.md SOUL.md USER.md TOOLS.md MEMORY.md    shown always, in this order, 20 KiB each and 60 KiB together
//	skills/<folder>/SKILL.md                        YAML frontmatter with name and description; read on demand, 40 KiB
//
// It reads regular files inside the folder only: a link that leads out of it is refused, a pipe is not waited for. What
// cannot be read, or is broken, is a Problem with its place, and never keeps the rest from being read. Text is made clean:
// valid UTF-8 without control characters; what is cut is cut at a line, and says so.
//
// Load is called in every turn. It looks at the disk twice a second at most; as long as nothing has changed (time of the
// last change, size, mode, identity) that costs a stat for each file. A change younger than two seconds is no proof of
// anything, so such files are read again.
package workspace
