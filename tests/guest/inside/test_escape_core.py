"""The core of the escape suite, where Landlock is older and groups are of version 2:
for each mechanism those programs that would notice a difference."""

import pytest
import test_escape
from callers import caller_labels
from test_escape import PROGRAMS

RELEASE = [
    "fs_r1_every_way_to_open", "fs_r1_read_host_files", "fs_r5_symlink_out", "fs_r9_new_mount_calls",
    "fs_r9_user_and_mount_namespace", "fs_w1_change_host_file", "fs_w1_write_outside", "fs_w7_remount_writable",
    "in1_environment_of_processes", "k1_every_system_call", "k6_clone_flag_bits", "net1_all_families",
    "net2_connect_loopback", "net4_abstract_socket", "pr12_new_namespaces", "pr1_execve", "pr1_fork",
    "pr3_memory_file_with_subprocess", "pr7_ptrace", "pr8_signal_sweep", "rs4_append_until_oom", "rs6_fill_writable_mounts",
    "rs7_fork_bomb",
]  # fmt: skip
ALONE = [
    ("fs_r1_read_host_files", "landlock", "root"),
    ("fs_r1_read_host_files", "landlock", "user"),
    ("fs_r1_every_way_to_open", "landlock", "user"),
    ("fs_w1_write_outside", "landlock", "root"),
    ("fs_w1_write_outside", "landlock", "user"),
    ("rs7_fork_bomb", "cgroup_pids", "root"),
]
CONTROL = ["fs_r1_read_host_files", "fs_w1_write_outside", "pr1_fork", "rs7_fork_bomb"]


@pytest.mark.parametrize("label", caller_labels())
@pytest.mark.parametrize("name", RELEASE)
def test_release_contains(name, label):
    test_escape.test_release_contains(PROGRAMS[name], label)


@pytest.mark.parametrize(("name", "mechanism", "label"), ALONE)
def test_one_lock_alone_contains(name, mechanism, label):
    test_escape.test_one_lock_alone_contains(PROGRAMS[name], label, mechanism)


@pytest.mark.parametrize("name", CONTROL)
def test_control_escapes(name):
    test_escape.test_control_escapes(PROGRAMS[name], "root")
