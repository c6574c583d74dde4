// Programs to begin with. Each brings the policy it needs and no more.

export const EXAMPLES = [
	{
		name: "Hello",
		policy: {},
		code: `# A fresh jail: no network, no host files, no processes.
import sys
from statistics import mean

readings = {
    "Oslo": [3, 5, 4],
    "Lima": [19, 21, 20],
    "Cairo": [28, 31, 30],
}

print("Python", sys.version.split()[0])
for city, values in readings.items():
    print(f"{city:<6} {mean(values):5.1f} °C")

# The last expression comes back as a value.
{city: max(values) for city, values in readings.items()}
`,
	},
	{
		name: "Chart",
		policy: { preset: "scientific" },
		code: `import numpy as np
import matplotlib.pyplot as plt

x = np.linspace(0, 4 * np.pi, 200)
for damping in (0.05, 0.15, 0.3):
    angle = np.exp(-damping * x) * np.cos(x)
    plt.plot(x, angle, label=f"damping {damping}")

plt.title("A pendulum comes to rest")
plt.xlabel("time (s)")
plt.ylabel("angle (rad)")
plt.legend()
plt.show()
`,
	},
	{
		name: "Table",
		policy: { preset: "scientific" },
		code: `import pandas as pd

orders = pd.DataFrame({
    "region": ["north", "south", "north", "east", "south", "east"],
    "revenue": [120.5, 90.0, 135.25, 88.0, 110.75, 101.0],
    "orders": [14, 9, 15, 10, 12, 11],
})

orders.groupby("region").agg(
    revenue=("revenue", "sum"),
    orders=("orders", "sum"),
    best=("revenue", "max"),
)
`,
	},
	{
		name: "Network",
		policy: {},
		code: `# There is no network: this is refused, and listed
# below the output with what would allow it.
import socket

try:
    socket.create_connection(("example.com", 443), 5)
    print("connected")
except OSError as error:
    print("refused:", error)
`,
	},
	{
		name: "Files",
		policy: { artifact_export_paths: ["*.csv"] },
		code: `# Files leave the jail if the policy names them: *.csv.
import csv

with open("squares.csv", "w", newline="") as out:
    rows = csv.writer(out)
    rows.writerow(["n", "square"])
    rows.writerows([n, n * n] for n in range(1, 101))

with open("notes.txt", "w") as out:
    out.write("This one stays inside.")

print("written")
`,
	},
	{
		name: "Long run",
		policy: { timeout: 60 },
		code: `# Stop it with Escape: the program gets a KeyboardInterrupt.
import time

try:
    for second in range(1, 61):
        bar = "█" * (second // 2)
        print(f"\\r{bar:<30} {second} s", end="")
        time.sleep(1)
except KeyboardInterrupt:
    print("\\nstopped, and tidied up")
`,
	},
	{
		name: "Too much memory",
		policy: {},
		code: `# The kernel keeps the limit, and the result says so.
blocks = []
while True:
    blocks.append(bytearray(16 << 20))
    print(f"{len(blocks) * 16} MiB")
`,
	},
];
