// Package files has the tools that read and write the workspace of an agent, keep its notes, and tell the time.
//
// What it promises:
//
//   - Nothing outside of the workspace is read, written, or named. A path is walked folder by folder, each held open
//     ([os.Root]); links are followed inside only, and what was opened is compared with what was looked at. Whoever swaps a
//     folder for a link meanwhile gets an error, or the write into the folder that was checked.
//   - Only regular files are opened. A pipe or a device is refused, and never waited for.
//   - A file is written whole or not at all: next to it, then renamed. Its mode stays, and its owner or the call fails.
//     One process writes one file at a time; a file that another process changes in between is not overwritten.
//   - What every prompt begins with is written only in a call that a person has allowed. That is asked of where the bytes
//     would land: behind links, through another name of the same file, and for what a link in skills/ leads to.
//   - A call that was decided about by the content of files is refused when one of them is another now.
//   - Results say whether they are private (USER.md, MEMORY.md, what the operator names) and whether they are from outside.
//
// Files of the workspace count as the agent's own, except those below a folder inbox or downloads, and those that another
// user owns: these are text from outside. What a model copies out of them into a file of its own cannot be told apart.
//
// When the process dies while it writes, the file is as it was, and a file .jetclaw-*.tmp may stay beside it. What one
// instant cannot exclude on any system: another program that moves the very folder into skills/ between the last look and
// the rename.
package files
