"""Debian's scientific packages run unmodified under the preset."""

import pytest

PROGRAMS = {
    "numpy": "import numpy as np; a = np.random.default_rng(1).random((400, 400)); print(round(float(np.trace(a @ a.T)), 3) > 0, np.linalg.svd(a)[1][0] > 1)",
    "pandas": "import pandas as pd; d = pd.DataFrame({'a': [1, 1, 2], 'b': [1., 2., 3.]}); print(d.groupby('a').b.mean().tolist()); d.to_csv('x.csv'); print(pd.read_csv('x.csv').shape)",
    "matplotlib": "import matplotlib, matplotlib.pyplot as plt, os; plt.plot([1, 2, 4]); plt.title('Ä'); plt.savefig('a.png'); plt.savefig('a.pdf'); plt.savefig('a.svg'); print(matplotlib.get_backend(), sorted(os.listdir('.')))",
    "scipy": "from scipy import optimize, integrate, stats; print(round(optimize.brentq(lambda x: x * x - 2, 0, 2), 6), round(integrate.quad(lambda x: x, 0, 1)[0], 6), stats.norm.cdf(0))",
    "sqlite": "import sqlite3; c = sqlite3.connect('x.db'); c.execute('create table t (a)'); c.executemany('insert into t values (?)', [(i,) for i in range(1000)]); c.commit(); print(c.execute('select sum(a) from t').fetchone())",
    "ssl": "import ssl, hashlib; c = ssl.create_default_context(); print(len(c.get_ca_certs()) >= 0, hashlib.sha256(b'').hexdigest()[:8])",
    "asyncio": "import asyncio\nasync def f(i):\n    await asyncio.sleep(.01); return i\nasync def main(): return sum(await asyncio.gather(*map(f, range(50)))), await asyncio.to_thread(lambda: 7)\nprint(asyncio.run(main()))",
    "threads": "from concurrent.futures import ThreadPoolExecutor\nimport numpy as np\nwith ThreadPoolExecutor(8) as p: print(sum(p.map(lambda i: float((np.ones((64, 64)) @ np.ones((64, 64)))[0, 0]), range(32))))",
    "locks": "import multiprocessing as m, tempfile, zoneinfo, datetime, decimal; l = m.Lock(); l.acquire(); print(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Oslo')).utcoffset()); tempfile.NamedTemporaryFile().write(b'x')",
}
EXPECTED = {
    "numpy": "True True\n",
    "pandas": "[1.5, 3.0]\n(3, 3)\n",
    "matplotlib": "agg ['a.pdf', 'a.png', 'a.svg']\n",
    "scipy": "1.414214 0.5 0.5\n",
    "sqlite": "(499500,)\n",
    "ssl": "True e3b0c442\n",
    "asyncio": "(1225, 7)\n",
    "threads": "2048.0\n",
    "locks": "2:00:00\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_scientific_program_runs_unmodified(remit, name):
    result = remit.json(PROGRAMS[name], "--preset", "scientific")
    assert result["status"] == "ok", (result["stderr"], result["error"])
    assert result["stdout"].replace("Agg", "agg") == EXPECTED[name]
    assert result["stderr"] == ""


def test_font_list_is_prebuilt(remit):
    """No run builds a font list, which would take seconds and need fc-list."""
    code = "import os; print(os.listdir(os.environ['MPLCONFIGDIR']))\nimport logging; logging.basicConfig(level=logging.DEBUG)\nimport matplotlib.font_manager"
    result = remit.json(code, "--preset", "scientific")
    assert "fontlist" in result["stdout"] and "generated new fontManager" not in result["stderr"]
