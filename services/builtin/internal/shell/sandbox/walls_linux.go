package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// restrict builds the walls of the kind around this thread, for good.
func restrict(s spec, proc bool) error {
	if s.Kind == unboxed {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	abi := landlockABI()
	switch {
	case s.Kind == bare && abi < scopeABI:
		return fmt.Errorf("without namespaces it takes Landlock ABI %d, here is %d", scopeABI, abi)
	case s.Kind == own && abi == 0:
		return errNoLandlock
	case abi > 0:
		if err := confine(abi, s.rights(proc)); err != nil {
			return err
		}
	}
	if s.Kind == bare {
		// The end of a bare sandbox is a signal to every process that this thread can reach. So it must not reach ours.
		if unix.Getppid() != s.Parent || !errors.Is(unix.Kill(s.Parent, 0), unix.EPERM) {
			return errors.New("signals are not kept inside")
		}
	}
	return sift(s.Kind == bare)
}

// rights are those to paths.
func (s spec) rights(proc bool) []right {
	temp := s.Temp
	if s.Kind != bare {
		temp = ownTemp
	}
	list := []right{{s.Dir, writeRights, true}, {temp, writeRights, true}}
	for _, path := range s.Read {
		list = append(list, right{path, readRights, false})
	}
	for _, path := range devices {
		list = append(list, right{path, deviceRights, false})
	}
	if proc {
		list = append(list, right{"/proc", procRights, false})
	}
	return list
}

// dropCapabilities leaves this thread, and what it starts, without any, root too.
func dropCapabilities() error {
	for c := uintptr(0); c <= 63; c++ {
		// EINVAL: there is no such capability. EPERM: we have too few to take them out of the bounding set, where without new
		// privileges nobody can get them from.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none, left [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	if err := unix.Capget(&header, &left[0]); err != nil {
		return err
	}
	if left != none {
		return errors.New("some are left")
	}
	return nil
}
