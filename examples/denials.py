"""Prints what a run was refused: remit run --json FILE | python3 denials.py"""

import json
import sys

for denial in json.load(sys.stdin)["denials"]:
    print(f"  {denial['what']}: {denial['field'] or 'nothing'} would allow it", f"({denial['flag']})" if denial["flag"] else "")
