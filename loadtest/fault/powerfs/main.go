package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

func main() {
	names := flag.String("names", "journal", "which names survive a cut: journal or strict")
	flag.Parse()
	if flag.NArg() != 2 || *names != "journal" && *names != "strict" {
		fmt.Fprintln(os.Stderr, "usage: powerfs [--names journal|strict] BACKING MOUNTPOINT")
		os.Exit(2)
	}
	signal.Ignore(syscall.SIGINT) // of the terminal: who started this ends it, by its input
	if err := run(flag.Arg(0), flag.Arg(1), *names == "strict", os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "powerfs:", err)
		os.Exit(1)
	}
}

func run(backing, mountpoint string, strict bool, in io.Reader, out io.Writer) error {
	d, err := newDisk(backing, strict)
	if err != nil {
		return err
	}
	server, err := mount(d, mountpoint)
	if err != nil {
		return err
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() {
		<-terminated
		_ = unix.Unmount(mountpoint, unix.MNT_DETACH)
		os.Exit(1)
	}()
	reply := json.NewEncoder(out)
	err = reply.Encode(map[string]any{"mounted": mountpoint})
	if err == nil {
		err = serve(d, in, reply)
	}
	return errors.Join(err, unmount(server, mountpoint))
}

// mount needs no helper program, as root.
func mount(d *disk, mountpoint string) (*fuse.Server, error) {
	root, err := newRoot(d)
	if err != nil {
		return nil, err
	}
	_ = unix.Unmount(mountpoint, unix.MNT_DETACH) // what one that was killed has left
	second := time.Second
	server, err := fs.Mount(mountpoint, root, &fs.Options{
		EntryTimeout: &second, AttrTimeout: &second,
		MountOptions: fuse.MountOptions{
			FsName: "powerfs", Name: "powerfs", DirectMountStrict: true, DirectMountFlags: syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOATIME,
			MaxWrite: 1 << 20, DisableXAttrs: true,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("mount %s (it needs /dev/fuse, and root): %w", mountpoint, err)
	}
	return server, nil
}

// unmount takes the name away also from those who still use it: they get errors.
func unmount(server *fuse.Server, mountpoint string) error {
	if err := unix.Unmount(mountpoint, 0); err != nil {
		return unix.Unmount(mountpoint, unix.MNT_DETACH)
	}
	server.Wait()
	return nil
}

// serve obeys until the input ends, or the power is cut.
func serve(d *disk, in io.Reader, reply *json.Encoder) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseUint(arg, 10, 64)
		if verb != "stat" && verb != "sync" && err != nil {
			return fmt.Errorf("%q: want a number: %w", lines.Text(), err)
		}
		var answer any = map[string]any{}
		switch verb {
		case "cut":
			lost, err := d.cut(n)
			return errors.Join(err, reply.Encode(lost))
		case "sync":
			d.syncAll()
		case "room":
			d.setRoom(int64(n))
		case "others":
			d.setOthers(int64(n))
		case "stat":
			answer = d.count()
		default:
			return fmt.Errorf("unknown command %q", verb)
		}
		if err := reply.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}
