// Floods a server with bad requests at a steady rate, without waiting for answers. argv: port, own address, requests per
// second. On SIGTERM it prints its results as JSON.
import { connect, type Socket } from 'node:net'

const [port = 0, , perSecond = 10_000] = process.argv.slice(2).map(Number)
const localAddress = process.argv[3] ?? '127.0.0.2'
const connections = 50
// Short, for a steady flood: a hundred at once would be something else.
const tickMs = 2
const reopenMs = 10

const form = ['Content-Type: application/x-www-form-urlencoded']
const json = ['Content-Type: application/json']
const html = ['Accept: text/html']
const evil = 'Origin: https://evil.example'
const text = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const jwt = `${text({ alg: 'ES256', kid: 'unknown' })}.${text({ sub: 'x', exp: 2e9 })}.${'A'.repeat(86)}`
const message = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
const redirect = 'redirect_uri=https%3A%2F%2Fevil.example'

/** All kinds of bad requests: request line, headers, body. `#` stands for the number of the request. */
const kinds: readonly [line: string, headers?: readonly string[], body?: string][] = [
  ['POST /mcp', json, message],
  ['POST /mcp', [...json, `Authorization: Bearer mcpa_#${'x'.repeat(43)}`], message],
  ['POST /mcp', [...json, `Authorization: Bearer ${jwt}#`], message],
  ['POST /mcp', [...json, evil], message],
  ['GET /mcp', ['Accept: text/event-stream']],
  ['GET /mcp', [`Cookie: sb-x-auth-token=${'y'.repeat(6000)}`]],
  ['POST /oauth/token', form, 'grant_type=nonsense'],
  ['POST /oauth/token', form, 'grant_type=refresh_token&client_id=c#&refresh_token=mcpr_#'],
  ['POST /oauth/token', [...form, 'Authorization: Basic Y2xpZW50OnNlY3JldA=='], 'grant_type=refresh_token'],
  ['POST /oauth/token', json, '{'.repeat(2000)],
  ['PUT /oauth/token', form, 'a'],
  [`GET /oauth/authorize?response_type=code&client_id=c#&${redirect}`],
  ['GET /oauth/authorize', html],
  ['POST /oauth/authorize', [...form, evil], 'email=a&password=b'],
  ['POST /oauth/authorize', form, 'transaction=k1.#&email=a%40b.c&password=b'],
  ['GET /oauth/callback?state=nothing', html],
  ['POST /oauth/register', json, '{"redirect_uris":["javascript:alert(1)"]}'],
  ['POST /oauth/revoke', form, 'token=x'],
  ['POST /oauth/introspect', form, 'token=x'],
  ['POST /oauth/device_authorization', form, 'client_id=nobody'],
  ['GET /nothing/#'],
  ['GET /.well-known/nothing', html],
  ['GET /oauth/%2e%2e/mcp'],
]

/** Formats a request of a random kind. */
function badRequest(number: number): string {
  const [line, headers = [], template = ''] = kinds[Math.floor(Math.random() * kinds.length)] ?? ['GET /']
  const body = template.replaceAll('#', String(number))
  const head = [`${line} HTTP/1.1`, `Host: localhost:${port}`, ...headers].join('\r\n')
  const length = body === '' ? '' : `\r\nContent-Length: ${body.length}`
  return `${head.replaceAll('#', String(number))}${length}\r\n\r\n${body}`
}

const answers: Record<string, number> = {}
const lanes: { socket: Socket; waiting: number }[] = []

function openLane(index: number): void {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
  const lane = { socket, waiting: 0 }
  lanes[index] = lane
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    for (const [, status = ''] of chunk.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
      answers[status] = (answers[status] ?? 0) + 1
      lane.waiting -= 1
    }
  })
  socket.on('error', () => {})
  socket.on('close', () => setTimeout(() => openLane(index), reopenMs))
}
for (let index = 0; index < connections; index += 1) openLane(index)

const begin = performance.now()
let due = 0
setInterval(() => {
  const until = ((performance.now() - begin) / 1000) * perSecond
  for (; due < until; due += 1) {
    const lane = lanes[due % connections]
    // Do not send an unresponsive server more than it can hold.
    if (!lane || lane.waiting > 400) continue
    lane.waiting += 1
    lane.socket.write(badRequest(due), 'latin1')
  }
}, tickMs)

process.once('SIGTERM', () => {
  const seconds = (performance.now() - begin) / 1000
  process.stdout.write(`${JSON.stringify({ seconds, answers })}\n`, () => process.exit(0))
})
process.stdout.write('{"event":"ready"}\n')
