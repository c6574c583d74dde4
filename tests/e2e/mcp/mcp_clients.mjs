// A client of the Model Context Protocol by other authors, controlled by a line of JSON:
// {client: "sdk" | "client", mode, command, args, url, headers, elicit, steps: [[what, argument, options], ...]}
// For each step it prints a line, {ok} or {error}, with the progress that was reported meanwhile.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const want = JSON.parse(process.argv[2]);
const require = createRequire(`${want.packages}/`);
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const printLine = (line) => process.stdout.write(JSON.stringify(line) + '\n');

const sdk = want.client === 'sdk';
const { Client } = await load(sdk ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const asked = [];
const answer = async (request) => {
  asked.push(request.params.message);
  return want.elicit;
};

const client = new Client(
  { name: 'remit-test', version: '1' },
  { capabilities: want.elicit ? { elicitation: {} } : {}, ...(want.mode ? { versionNegotiation: { mode: want.mode } } : {}) },
);
if (want.elicit) {
  const types = sdk && (await load('@modelcontextprotocol/sdk/types.js'));
  client.setRequestHandler(sdk ? types.ElicitRequestSchema : 'elicitation/create', answer);
}

async function transport() {
  if (want.url) {
    const { StreamableHTTPClientTransport } = await load(
      sdk ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client',
    );
    return new StreamableHTTPClientTransport(new URL(want.url), { requestInit: { headers: want.headers ?? {} } });
  }
  const { StdioClientTransport } = await load(sdk ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio');
  return new StdioClientTransport({ command: want.command, args: want.args, env: process.env, stderr: 'inherit' });
}

const kept = {}; // of earlier answers: "$session" stands for the last session's handle
const fill = (value) => JSON.parse(JSON.stringify(value ?? {}).replaceAll('"$session"', JSON.stringify(kept.session ?? null)).replaceAll('$uri', kept.uri ?? ''));

const steps = {
  server: async () => ({ info: client.getServerVersion(), abilities: client.getServerCapabilities(), instructions: client.getInstructions() }),
  tools: async () => client.listTools(),
  call: async (given, options) => {
    const more = { ...options, timeout: options?.timeout ?? 60000 };
    const result = await (sdk ? client.callTool(given, undefined, more) : client.callTool(given, more));
    kept.session = result.structuredContent?.session ?? kept.session;
    kept.uri = result.content?.find((b) => b.type === 'resource_link')?.uri ?? kept.uri;
    return result;
  },
  resources: async () => client.listResources(),
  templates: async () => client.listResourceTemplates(),
  read: async (given) => client.readResource(given),
  ping: async () => client.ping(),
};

await client.connect(await transport());
for (const [what, given, options] of want.steps) {
  const progress = [];
  const began = performance.now();
  const more = { ...options };
  if (options?.progress) more.onprogress = (p) => progress.push(p.message);
  if (options?.abort) more.signal = AbortSignal.timeout(options.abort);
  try {
    const ok = await steps[what](fill(given), more);
    printLine({ ok, progress, asked: asked.splice(0), ms: performance.now() - began });
  } catch (e) {
    printLine({ error: { code: e.code ?? null, message: String(e.message ?? e) }, progress, asked: asked.splice(0), ms: performance.now() - began });
  }
}
await client.close();
