"""Where the daemon listens, by the rules of bridge/PROTOCOL.md."""

import os

SYSTEM_FOLDER = "/run/gearshift"
SOCKET = "workloads.ipc"


def own_folder():
    """The folder in which a daemon of this user has its sockets."""
    if os.geteuid() == 0:
        return SYSTEM_FOLDER
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return f"{runtime}/gearshift" if runtime else f"/tmp/gearshift-{os.geteuid()}"


def find(given=""):
    """The endpoint to connect to; looked up again each time, since a daemon may start later."""
    endpoint = given or os.environ.get("GEARSHIFT_ENDPOINT")
    if endpoint:
        return endpoint
    own = own_folder()
    for folder in (own, SYSTEM_FOLDER):
        if os.path.exists(f"{folder}/{SOCKET}"):
            return f"ipc://{folder}/{SOCKET}"
    return f"ipc://{own}/{SOCKET}"
