# id: IN1
# field: env
# kept-by: empty_environment
# policy: {"env": {"GREETING": "hello"}}
# witness: canary
# expect: only the variables that the policy names are set, and no others of the caller

assert os.environ.get("GREETING") == "hello", "the policy's own variable must be set"
for name, value in os.environ.items():
    if name == ARG["env_name"]:
        leak(name, value)
    elif value == ARG["user_name"]:
        went_through(name, value)
    else:
        refused(name, "set by the policy or the jail")
for name in ("SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "REMIT_HOLES", "SUDO_USER"):
    if os.environ.get(name):
        went_through(name)
report_outcome()
