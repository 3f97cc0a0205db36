// An MCP client made with the TypeScript SDK, for a test in another language. It holds one session and calls a tool for each line
// of stdin, {"id", "tool", "arguments"}, all of them at once; what comes of each is a line of stdout, {"id", "result"} or
// {"id", "error"}. The first line of stdout is {"server"}. It ends with stdin.
//
//   session.mjs stdio COMMAND ARG…
//   session.mjs http URL TOKEN
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [kind, target, ...rest] = process.argv.slice(2);
const transport = kind === 'stdio'
  ? new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } } });
const client = new Client({ name: 'session', version: '1.0.0' });
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');

await client.connect(transport);
await client.listTools(); // what tools answer is held against their schemas from now on
say({ server: client.getServerVersion() });
for await (const line of createInterface({ input: process.stdin })) {
  const { id, tool, arguments: args } = JSON.parse(line);
  client.callTool({ name: tool, arguments: args }).then(
    (result) => say({ id, result }),
    (error) => say({ id, error: String(error) }),
  );
}
await client.close();
