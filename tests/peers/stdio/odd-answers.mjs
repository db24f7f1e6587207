// An MCP server whose tool `write` answers with the bytes it is told (latin1), in which ID is the id of the call. Its tool `line` answers
// with the line that it got. With --modern it speaks 2026-07-28, otherwise 2025-11-25.
import { createInterface } from 'node:readline'

const isModern = process.argv.includes('--modern')
const serverInfo = { name: 'odd', version: '1' }
const capabilities = { tools: {}, logging: {} }
const say = (text) => process.stdout.write(Buffer.from(text, 'latin1'))
const answer = (id, result) => process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`)

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line)
  if (id === undefined || method === undefined) return
  switch (method) {
    case 'initialize':
      if (isModern) break
      return answer(id, JSON.stringify({ protocolVersion: params.protocolVersion, capabilities, serverInfo }))
    case 'server/discover':
      if (!isModern) break
      return answer(
        id,
        JSON.stringify({
          resultType: 'complete',
          supportedVersions: ['2026-07-28'],
          capabilities,
          ttlMs: 0,
          cacheScope: 'private',
          _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
        }),
      )
    case 'tools/list': {
      const schema =
        '{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807,"default":1.0}}}'
      const tools = ['write', 'line', 'hidden'].map((name) => `{"name":"${name}","inputSchema":${schema}}`)
      return answer(id, `{"resultType":"complete","tools":[${tools.join(',')}]}`)
    }
    case 'tools/call':
      if (params.name === 'write') return say(params.arguments.text.replaceAll('ID', String(id)))
      return answer(id, JSON.stringify({ resultType: 'complete', content: [{ type: 'text', text: line }] }))
  }
  process.stdout.write(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Method not found"}}\n`)
})
