#!/bin/sh
# A short demonstration: a program that works, then one that is refused.
set -eu
remit=$1
here=$(dirname "$0")

show() {
	printf '\n$ remit'
	for word; do
		case $word in
		*' '*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$remit" "$@" || echo "(exit code $?)"
}

cat <<'END'
Remit runs Python that a language model wrote, strictly within its remit.

A program that stays within it:
END
show run "$here/fine.py"

printf '\nA program that does not: each attempt is refused by the kernel.\n'
show run "$here/curious.py"

printf '\nThe result says what it tried, and which flag would allow it:\n'
printf "\n\$ remit run --json examples/curious.py | python3 examples/denials.py\n"
"$remit" run --json "$here/curious.py" | python3 "$here/denials.py"

printf '\nA program that never ends:\n'
show run --timeout 500ms -c 'while True: pass'

printf '\nA promise that cannot be kept is refused before anything runs:\n'
show run --tier vm -c 'print("never printed")'

printf '\nWhich mechanism keeps what, here and now:\n'
show explain
