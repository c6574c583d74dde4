import subprocess
def test_x():
    print(subprocess.run("cat /proc/self/cgroup; cat /sys/fs/cgroup/cgroup.subtree_control; systemctl list-units; systemd-analyze", shell=True, text=True,capture_output=True).stdout)
    assert 0
