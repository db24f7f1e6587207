// A server of 2025-11-25 with sessions on node:http alone, fast enough that what stands before it is what is measured.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

const large = JSON.stringify('x'.repeat(1024 * 1024))
let answerDelayMs = 0
let requests = 0

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  if (request.url === '/control') {
    control(request, response)
    return
  }
  requests += 1
  if (request.method === 'POST') void post(request, response)
  else if (request.method === 'DELETE') response.writeHead(200).end()
  else if (request.headers.accept?.includes('text/event-stream')) openStream(response)
  else response.writeHead(404).end()
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(
    `${JSON.stringify({ event: 'ready', port: typeof address === 'object' && address?.port })}\n`,
  )
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})

/** POST sets how long every answer waits; the answer says how many requests there were since the last time. */
function control(request: IncomingMessage, response: ServerResponse): void {
  let text = ''
  request.on('data', (chunk: Buffer) => (text += chunk.toString()))
  request.on('end', () => {
    answerDelayMs = Number(text)
    response.end(String(requests))
    requests = 0
  })
}

function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.write(': open\n\n')
}

async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const message = JSON.parse(Buffer.concat(chunks).toString()) as Message
  if (answerDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, answerDelayMs))
  if (message.id === undefined) {
    response.writeHead(202).end()
    return
  }
  const session = message.method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {}
  const body = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${resultOf(message)}}`
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...session,
  })
  response.end(body)
}

interface Message {
  id?: string | number
  method: string
  params?: { name?: string; arguments?: { text?: string; megabytes?: number } }
}

function resultOf({ method, params }: Message): string {
  if (method === 'initialize') {
    return '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}'
  }
  if (method === 'tools/list') {
    return '{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"large","inputSchema":{"type":"object"}}]}'
  }
  if (params?.name === 'large') {
    const texts = Array.from(
      { length: params.arguments?.megabytes ?? 1 },
      () => `{"type":"text","text":${large}}`,
    )
    return `{"content":[${texts.join(',')}]}`
  }
  return `{"content":[{"type":"text","text":${JSON.stringify(params?.arguments?.text ?? '')}}]}`
}
