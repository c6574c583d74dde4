// Uses E2B's JavaScript client, unmodified: commands that are read from and left, watched folders, sandboxes that are
// found again. Prints one line of JSON.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.argv[2]}/`);
const { Sandbox } = await import(pathToFileURL(require.resolve('@e2b/code-interpreter')));
const seen = {};
const failed = async (promise) => promise.then(() => 'no error', (e) => e.constructor.name);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (is) => { for (let i = 0; i < 600 && !is(); i++) await pause(100); };

const box = await Sandbox.create({ metadata: { of: 'js', n: '1' }, timeoutMs: 600_000 });

const cat = await box.commands.run('cat; echo end', { background: true, stdin: true });
await box.commands.sendStdin(cat.pid, 'one\n');
await cat.sendStdin('tü\n');
await box.commands.closeStdin(cat.pid);
seen.stdin = (await cat.wait()).stdout;
const received = [[], []];
const receive = (n) => ({ onStdout: (text) => { received[n].push(text); } });
const handle = await box.commands.run('echo 1; read; for i in 2 3 4 5 6 7 8; do echo $i; done; exit 5', { background: true, stdin: true, ...receive(0) });
await until(() => received[0].length);
await handle.disconnect();
const [found] = await box.commands.list();
const again = await box.commands.connect(found.pid, receive(1));
await box.commands.sendStdin(found.pid, '\n');
const ended = await again.wait().then(() => 0, (e) => e.exitCode);
seen.again = [found.pid === handle.pid, ...received.map((all) => all.join('')), ended, await failed(box.commands.connect(found.pid))];
seen.place = (await box.commands.run('echo $A; pwd', { envs: { A: 'b' }, cwd: '/tmp', user: 'user' })).stdout;
seen.refused = [await failed(box.commands.run('id', { user: 'root' }))];
let typed = '';
const shell = await box.pty.create({ cols: 44, rows: 5, onData: (bytes) => { typed += new TextDecoder().decode(bytes); } });
await box.pty.sendInput(shell.pid, new TextEncoder().encode("stty size; echo o''ne\n"));
await until(() => typed.includes('one\r'));
await box.pty.resize(shell.pid, { cols: 55, rows: 6 });
await box.pty.sendInput(shell.pid, new TextEncoder().encode("stty size; echo t''wo\n"));
await until(() => typed.includes('two\r'));
seen.terminal = [typed.includes('5 44\r'), typed.includes('6 55\r'), await box.pty.kill(shell.pid), await failed(shell.wait())];
const sleeping = await box.commands.run('sleep 60', { background: true });
await box.files.write('ask', 'x');
seen.beside = [(await box.runCode('open("ask").read() * 2')).text, (await box.commands.run('cat ask')).stdout, (await box.commands.list()).length];
seen.killed = [await sleeping.kill(), await failed(sleeping.wait()), await box.commands.kill(sleeping.pid)];

await box.files.makeDir('w/deep');
const events = [];
const watch = await box.files.watchDir('w', (e) => { events.push([e.name, e.type]); }, { recursive: true });
await box.files.write('w/a', '1');
await until(() => events.length > 2);
await box.runCode('import os; os.rename("w/a", "w/deep/b")');
await until(() => events.length > 4);
await watch.stop();
seen.watched = [events, await failed(box.files.watchDir('nowhere', () => {}))];

await box.commands.run('ln -s deep link', { cwd: 'w' });
const link = await box.files.getInfo('w/link');
await box.files.write('w/packed', 'packed', { gzip: true });
seen.files = [link.symlinkTarget, await box.files.read('w/packed')];

const more = await Promise.all([2, 3].map((n) => Sandbox.create({ metadata: { of: 'js', n: `${n}` }, timeoutMs: 600_000 })));
const pages = [], listing = Sandbox.list({ limit: 2, query: { metadata: { of: 'js' } } });
while (listing.hasNext) pages.push((await listing.nextItems()).length);
seen.pages = pages;
const connected = await Sandbox.connect(box.sandboxId, { timeoutMs: 900_000 });
const before = (await connected.getInfo()).endAt;
await box.setTimeout(2_000_000);
seen.life = [await connected.isRunning(), (await connected.getInfo()).endAt - before > 60_000];
await Promise.all(more.map((b) => b.kill()));
const watching = [];
await box.files.watchDir('w', () => {}, { onExit: (e) => watching.push(e?.constructor.name ?? 'ended') });
seen.end = [await box.kill(), await failed(Sandbox.connect(box.sandboxId))];
await until(() => watching.length);
seen.end.push(watching.length);
console.log(JSON.stringify(seen));
