// A server over stdio, up to 2025-11-25, with the tools named by its arguments.
import { createInterface } from 'node:readline'

const tools = process.argv.slice(2).map((name) => ({ name, inputSchema: { type: 'object' } }))

for await (const line of createInterface(process.stdin)) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const answers = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'policy', version: '1' },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': () => ({ content: [{ type: 'text', text: `called ${params.name}` }] }),
  }
  const answer = answers[method]
  const outcome = answer ? { result: answer() } : { error: { code: -32601, message: 'Method not found' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`)
}
