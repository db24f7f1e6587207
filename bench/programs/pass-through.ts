// The floor of a gateway: what arrives goes on by node:http, and the answer back, as they are. Without sign-in, rules,
// sessions or log. argv: the URL of the server behind it.
import { Agent, request } from 'node:http'
import { listening, ready } from './listening.ts'

const [url = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const port = await listening((incoming, outgoing) => {
  const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'] })
    answer.pipe(outgoing)
  })
  incoming.pipe(sent)
})
ready({ port })
