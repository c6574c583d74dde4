// Example programs. Each comes with the smallest policy that it needs.

export const EXAMPLES = [
	{
		name: "Hello",
		policy: {},
		code: `# A new jail: no network, no host files, no processes.
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

# The value of the last expression is returned.
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
		code: `# The jail has no network: this attempt is refused, and listed
# below the output with the change that would allow it.
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
		code: `# Files that the policy lists are exported from the jail: *.csv.
import csv

with open("squares.csv", "w", newline="") as out:
    rows = csv.writer(out)
    rows.writerow(["n", "square"])
    rows.writerows([n, n * n] for n in range(1, 101))

with open("notes.txt", "w") as out:
    out.write("This file stays in the jail.")

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
    print("\\nstopped after cleaning up")
`,
	},
	{
		name: "Too much memory",
		policy: {},
		code: `# The kernel enforces the limit, and the result reports it.
blocks = []
while True:
    blocks.append(bytearray(16 << 20))
    print(f"{len(blocks) * 16} MiB")
`,
	},
];
