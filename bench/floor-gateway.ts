// The floor of a gateway: what arrives goes on by node:http, and the answer back, as they are. Without sign-in, rules, sessions or
// log. argv: the URL of the server behind it.
import { Agent, createServer, request } from 'node:http'

const [url = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const server = createServer({ keepAliveTimeout: 65_000 }, (incoming, outgoing) => {
  const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'] })
    answer.pipe(outgoing)
  })
  incoming.pipe(sent)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  process.stdout.write(`${JSON.stringify({ event: 'ready', port })}\n`)
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  agent.destroy()
})
