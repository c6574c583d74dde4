// Uses E2B's JavaScript client, unmodified, as its users do. Prints one line of JSON with the result of each step.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.argv[2]}/`);
const { Sandbox } = await import(pathToFileURL(require.resolve('@e2b/code-interpreter')));
const seen = {};
const failed = async (promise) => promise.then(() => 'no error', (e) => [e.constructor.name, e.exitCode ?? e.message]);

const box = await Sandbox.create({ metadata: { test: 'js' }, envs: { GREETING: 'hello' }, timeoutMs: 600_000 });
const streamed = [];
const first = await box.runCode('import os\nprint(os.environ["GREETING"])\nprint("ü€😀")\nx = 41\nx + 1', { onStdout: (m) => streamed.push(m.line) });
seen.run = [first.text, first.logs.stdout.join(''), streamed.join('')];
const wrong = await box.runCode('print("before")\n1 / 0');
seen.error = [wrong.error.name, wrong.error.value, wrong.logs.stderr.length];
seen.state = [(await box.runCode('x')).text, (await box.runCode('x')).executionCount];
const figure = await box.runCode(`
    import matplotlib.pyplot as plt
    plt.bar(['a', 'b'], [3, 4])
    plt.title('Bars')
    plt.show()
    'last'
`);
seen.chart = [figure.results.length, !!figure.results[0].png, figure.results[0].chart?.type, figure.results[0].chart?.elements?.length, figure.text];
const context = await box.createCodeContext({ cwd: '/tmp' });
const apart = await box.runCode('import os; print(os.getcwd()); x', { context });
seen.contexts = [apart.logs.stdout, apart.error.name, (await box.listCodeContexts()).at(-1).id === context.id];
await box.restartCodeContext(context);
await box.removeCodeContext(context);
seen.removed = (await box.listCodeContexts()).length;
await box.files.write('data/a.txt', 'some text');
await box.files.write([{ path: 'data/b', data: 'b' }, { path: 'data/c', data: new Uint8Array([0, 255]).buffer }]);
seen.files = [
  await box.files.read('data/a.txt'),
  [...(await box.files.read('data/c', { format: 'bytes' }))],
  (await box.files.list('data')).map((e) => [e.name, e.type]),
  await box.files.makeDir('data'), await box.files.makeDir('new'),
  (await box.files.rename('data/a.txt', 'new/z')).path,
  await box.files.exists('data/a.txt'), await box.files.exists('new/z'),
  (await failed(box.files.read('nope')))[0],
];
await box.files.remove('new');
seen.command = await box.commands.run('echo out; echo err >&2; pwd');
seen.exit = await failed(box.commands.run('exit 3'));
seen.late = (await failed(box.commands.run('sleep 20', { timeoutMs: 800 })))[0];
seen.interrupted = (await failed(box.runCode('import time; time.sleep(60)', { timeoutMs: 1000 })))[0];
seen.after = (await box.runCode('x + 1')).text;
seen.again = (await (await Sandbox.connect(box.sandboxId)).runCode('x')).text;
seen.listed = (await Sandbox.list({ query: { metadata: { test: 'js' } } }).nextItems()).map((s) => s.sandboxId === box.sandboxId);
seen.info = [(await box.getInfo()).state, await box.isRunning()];
let running;
await new Promise((begun) => {
  running = failed(box.runCode('import time; print("on", flush=True); time.sleep(60)', { onStdout: begun }));
  running.then(begun);
});
seen.killed = [await box.kill(), ...(await running), await box.kill(), await box.isRunning()];
console.log(JSON.stringify(seen));
