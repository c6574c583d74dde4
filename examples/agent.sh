#!/bin/sh
# An agent loop with tools. A script plays the model, so none is needed: replace
# model() with a call to yours.
#
#	examples/agent.sh [REMIT]
set -eu
remit=${1:-remit}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The tools of the code: two commands of this machine, each with a schema.
cat >"$folder/stock.json" <<'END'
{"type": "object",
 "properties": {"item": {"enum": ["apples", "pears", "plums"]}},
 "required": ["item"], "additionalProperties": false}
END
cat >"$folder/order.json" <<'END'
{"type": "object",
 "properties": {"item": {"type": "string"},
                "count": {"type": "integer", "minimum": 1, "maximum": 100}},
 "required": ["item", "count"], "additionalProperties": false}
END
set -- \
	--tool 'stock=case $(cat) in *apples*) echo 3;; *pears*) echo 40;; *) echo 0;; esac' \
	--tool-help 'stock=Says how many of an item are in stock.' \
	--tool-schema "stock=$folder/stock.json" --tool-result stock=json \
	--tool 'order=echo "ordered: $(cat)"' \
	--tool-help 'order=Orders more of an item.' \
	--tool-schema "order=$folder/order.json"

# The model. $1: its instructions. $2: the output of its last program.
model() {
	case $2 in
	'') # It knows that stock() takes an item, and guesses two.
		echo 'for item in "apples", "cherries": print(item, stock(item))' ;;
	*'one of'*) # The error lists the valid items.
		cat <<'END'
import asyncio
items = "apples", "pears", "plums"
for item, have in zip(items, await asyncio.gather(*(stock(i) for i in items))):
    if have < 10:
        print(await order(item, 10 - have))
END
		;;
	*) echo 'DONE' ;;
	esac
}

told=$("$remit" instructions "$@")
result=
while code=$(model "$told" "$result") && [ "$code" != DONE ]; do
	echo "--- the model writes"
	echo "$code"
	echo "--- the program says"
	result=$("$remit" run "$@" -c "$code" 2>&1) || true
	echo "$result"
done
