// The floor of a gateway: what arrives goes on by undici, and the answer back, as they are. Without sign-in, rules, sessions or log.
// argv: the URL of the server behind it.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { Agent, request } from 'undici'

const [url = ''] = process.argv.slice(2)
const dispatcher = new Agent()

const server = createServer({ keepAliveTimeout: 65_000 }, (...exchange) => void passOn(...exchange))
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

async function passOn(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const answer = await request(url, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: await buffer(incoming),
  })
  outgoing.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) })
  await pipeline(answer.body, outgoing)
}
