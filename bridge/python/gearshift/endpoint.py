"""Where the daemon listens, by the rules of bridge/PROTOCOL.md."""

import os
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


def find(given="", tell_once=lambda message: None):
    """The endpoint to connect to, empty where there is none now; looked up again each time, since a daemon may
    start later. There is nothing to connect to before there is a folder: anybody may make one in /tmp."""
    endpoint = given or os.environ.get("GEARSHIFT_ENDPOINT")
    if endpoint:
        return endpoint
    folders = [SYSTEM_FOLDER]  # what is in /run only root made
    own = own_folder()
    if own != SYSTEM_FOLDER:
        why = distrust(own)
        if why:
            tell_once(why)
        else:
            folders.insert(0, own)
    there = (folder for folder in folders if os.path.exists(f"{folder}/{SOCKET}"))
    return next((f"ipc://{folder}/{SOCKET}" for folder in there), "")


def is_ipv6(endpoint) -> bool:
    """Whether its address is an IPv6 one. libzmq takes none before it is told to, and looks names up otherwise then."""
    return endpoint.startswith("tcp://[")
