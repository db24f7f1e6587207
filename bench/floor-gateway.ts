// The floor of a gateway: what arrives goes on by undici, and the answer back, as they are. Without sign-in, rules, sessions or log.
// argv: the URL of the server behind it.
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { Agent, request } from 'undici'

const [url = ''] = process.argv.slice(2)
const dispatcher = new Agent()

const server = createServer({ keepAliveTimeout: 65_000 }, async (incoming, outgoing) => {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const answer = await request(url, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: Buffer.concat(chunks),
  })
  outgoing.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) })
  await pipeline(answer.body, outgoing)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  process.stdout.write(`${JSON.stringify({ event: 'ready', port })}\n`)
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  void dispatcher.close()
})
