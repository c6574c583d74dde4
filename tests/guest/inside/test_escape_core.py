"""The hostile programs whose outcome could differ with an older Landlock and with cgroup v2."""

import pytest
import test_escape
from test_escape import PROGRAMS

BOTH = ["root", "user"]
RELEASE = {
    "fs_r1_every_way_to_open": ["user"],
    "fs_w1_write_outside": ["user"],
    "fs_r9_user_and_mount_namespace": ["user"],
    "k1_every_system_call": ["user"],
    "net2_connect_loopback": ["root"],
    "pr12_new_namespaces": ["root"],
    "pr3_memory_file_with_subprocess": BOTH,
    "rs7_fork_bomb": ["user"],
}
ALONE = [
    ("fs_r1_read_host_files", "landlock", "user"),
    ("fs_w1_write_outside", "landlock", "root"),
    ("rs7_fork_bomb", "cgroup_pids", "root"),
]
CONTROL = ["fs_w1_write_outside"]


@pytest.mark.parametrize(("name", "label"), [(name, label) for name, labels in RELEASE.items() for label in labels])
def test_release_contains(name, label):
    test_escape.test_release_contains(PROGRAMS[name], label)


@pytest.mark.parametrize(("name", "mechanism", "label"), ALONE)
def test_single_mechanism_contains(name, mechanism, label):
    test_escape.test_single_mechanism_contains(PROGRAMS[name], label, mechanism)


@pytest.mark.parametrize("name", CONTROL)
def test_control_escapes(name):
    test_escape.test_control_escapes(PROGRAMS[name], "root")
