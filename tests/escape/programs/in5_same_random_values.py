# id: IN5
# field: timeout
# kept-by: timer
# runs: 4
# control: no no mechanism of the policy table makes random numbers; the runs are compared with each other
# expect: no random value of one run appears in another

import random
import secrets
import tempfile
import uuid

values = {
    "random": random.random(),
    "secrets": secrets.token_hex(8),
    "uuid4": str(uuid.uuid4()),
    "uuid1": str(uuid.uuid1()),
    "tempfile": os.path.basename(tempfile.mktemp()),
    "urandom": os.urandom(8).hex(),
}
try:
    import ssl

    values["ssl"] = ssl.RAND_bytes(8).hex()
except ImportError:
    pass
print("VALUES", json.dumps(values))
for text in ARG["earlier"]:
    for line in text.splitlines():
        if line.startswith("VALUES "):
            for key, value in json.loads(line[7:]).items():
                if values.get(key) == value:
                    went_through(key, "came again")
refused("values", "%d kinds, new in run %d" % (len(values), ARG["round"]))
report_outcome()
