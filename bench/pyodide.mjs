// Runs Python in Pyodide in Deno: once, or many times in one interpreter.
//
//     deno cache npm:pyodide
//     deno run --cached-only --allow-read bench/pyodide.mjs [--serve] CODE
//
// With --serve it writes "ready" after the first run. Then it answers each line that it
// reads with the milliseconds that another run took.

import { loadPyodide } from "npm:pyodide";

const serves = Deno.args[0] === "--serve";
const code = Deno.args[serves ? 1 : 0];
const lines = [];
const python = await loadPyodide({ stdout: (line) => lines.push(line) });

function run() {
  const begun = performance.now();
  const globals = python.toPy({});
  python.runPython(code, { globals });
  globals.destroy();
  return performance.now() - begun;
}

run();
if (serves) {
  console.log("ready");
  for await (const piece of Deno.stdin.readable)
    for (let i = 0; i < piece.length; i++) console.log(run());
} else {
  console.log(lines.join("\n"));
}
