"""Makes a wheel with one small module, to try packages without a network.

    python3 make_wheel.py FOLDER NAME VERSION
"""

import os
import sys
import zipfile

folder, name, version = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
info = f"{name}-{version}.dist-info"
files = {
    f"{name}.py": f'version = "{version}"\n\n\ndef hello(who):\n    return f"hello, {{who}}"\n',
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: example\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(os.path.join(folder, f"{name}-{version}-py3-none-any.whl"), "w") as wheel:
    for path, text in {**files, f"{info}/RECORD": record}.items():
        wheel.writestr(path, text)
