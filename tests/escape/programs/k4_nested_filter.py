# id: K4
# field: subprocess_execution
# kept-by: seccomp
# expect: ENOSYS and EPERM: no further filter or ruleset on top of the jail's

SET_MODE_FILTER, NEW_LISTENER, PR_SET_SECCOMP = 1, 8, 22
reach("seccomp filter", "seccomp", SET_MODE_FILTER, 0, BAD)
reach("seccomp listener", "seccomp", SET_MODE_FILTER, NEW_LISTENER, BAD)
reach("prctl", "prctl", PR_SET_SECCOMP, 2, BAD, 0, 0)
reach("landlock_create_ruleset", "landlock_create_ruleset", BAD, 8, 0)
reach("landlock_add_rule", "landlock_add_rule", -1, 1, BAD, 0)
reach("landlock_restrict_self", "landlock_restrict_self", -1, 0)
report_outcome()
