"""Where the daemon listens, by the rules of bridge/PROTOCOL.md."""

import os
import socket
import stat

SYSTEM_FOLDER = "/run/gearshift"
SOCKET = "workloads.ipc"


def own_folder():
    """The folder in which a daemon of this user has its sockets."""
    if os.geteuid() == 0:
        return SYSTEM_FOLDER
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return f"{runtime}/gearshift" if runtime else f"/tmp/gearshift-{os.geteuid()}"


def distrust(folder):
    """Why another user may be who listens in this folder, for people; empty: nobody else can."""
    user = os.geteuid()
    try:
        status = os.lstat(folder)
    except OSError:
        return ""
    trusted = stat.S_ISDIR(status.st_mode) and status.st_uid in (user, 0)
    if trusted and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        try:
            if os.lstat(f"{folder}/{SOCKET}").st_uid in (user, 0):
                return ""
        except OSError:
            return ""
    return f"{folder}: another user made it or may write to it, so that no daemon is looked for there"


def listens(path):
    """Whether connect() to the socket file is taken now, or waits since the queue of who listens is full: one that a
    killed daemon left refuses. True too where this process may open no socket to ask by."""
    try:
        asks = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError:
        return True
    with asks:
        asks.setblocking(False)
        try:
            asks.connect(path)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True


def folders(tell_once=lambda message: None):
    """Where a daemon of this user or of root has its sockets, the first to look at first."""
    own = own_folder()
    if own == SYSTEM_FOLDER:  # what is in /run only root made
        return [own]
    why = distrust(own)
    if not why:
        return [own, SYSTEM_FOLDER]
    tell_once(why)
    return [SYSTEM_FOLDER]


def find(given="", tell_once=lambda message: None):
    """The endpoint to connect to, empty where there is none now; looked up again each time, since a daemon may
    start later. There is nothing to connect to before there is a folder: anybody may make one in /tmp."""
    endpoint = given or os.environ.get("GEARSHIFT_ENDPOINT")
    if endpoint:
        return endpoint
    sockets = [f"{folder}/{SOCKET}" for folder in folders(tell_once)]
    there = [path for path in sockets if os.path.exists(path)]
    # Where there is one alone it may be that of a daemon that is about to listen.
    if len(there) > 1 and not listens(there[0]):
        del there[0]
    return f"ipc://{there[0]}" if there else ""


def none_found():
    """Where find() has looked in vain, for people."""
    looked_at = " and ".join(f"{folder}/{SOCKET}" for folder in folders())
    return f"no daemon yet: nothing is at {looked_at}"


def is_ipv6(endpoint) -> bool:
    """Whether its address is an IPv6 one. libzmq takes none before it is told to, and looks names up otherwise then."""
    return endpoint.startswith("tcp://[")
