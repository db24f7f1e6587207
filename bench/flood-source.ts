import { connect, type Socket } from 'node:net'

/**
 * A process that floods a server with bad requests at a steady rate, whatever the answers: argv is port, own address,
 * requests per second, connections. A line `stop` on stdin ends it; it then prints its results as JSON.
 */
const [port = 0, , perSecond = 10_000, connections = 50] = process.argv.slice(2).map(Number)
const localAddress = process.argv[3] ?? '127.0.0.2'
const host = `localhost:${port}`
// Short, for a steady flood: a hundred at once would be something else.
const tickMs = 2
const reopenMs = 10

const request = (line: string, headers: readonly string[] = [], body?: string): string =>
  [
    `${line} HTTP/1.1`,
    `Host: ${host}`,
    ...headers,
    ...(body === undefined ? [] : [`Content-Length: ${body.length}`]),
    '',
    body ?? '',
  ].join('\r\n')

const form = 'Content-Type: application/x-www-form-urlencoded'
const json = 'Content-Type: application/json'
const bearer = 'Authorization: Bearer'
const text = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const jwt = `${text({ alg: 'ES256', kid: 'unknown' })}.${text({ sub: 'x', exp: 2e9 })}.${'A'.repeat(86)}`
const message = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

/** Each creates the n-th bad request of its kind. */
const kinds: readonly ((n: number) => string)[] = [
  () => request('POST /mcp', [json], message),
  (n) => request('POST /mcp', [json, `${bearer} mcpa_${n}`.padEnd(70, 'x')], message),
  (n) => request('POST /mcp', [json, `${bearer} ${jwt}${n}`], message),
  () => request('GET /mcp', ['Accept: text/event-stream']),
  () => request('POST /mcp', ['Origin: https://evil.example', json], message),
  () => request('POST /oauth/token', [form], 'grant_type=nonsense'),
  (n) =>
    request('POST /oauth/token', [form], `grant_type=refresh_token&client_id=c${n}&refresh_token=mcpr_${n}`),
  () =>
    request(
      'POST /oauth/token',
      [form, 'Authorization: Basic Y2xpZW50OnNlY3JldA=='],
      'grant_type=refresh_token',
    ),
  () => request('POST /oauth/token', [json], '{'.repeat(2000)),
  (n) =>
    request(
      `GET /oauth/authorize?response_type=code&client_id=c${n}&redirect_uri=https%3A%2F%2Fevil.example`,
    ),
  () => request('GET /oauth/authorize', ['Accept: text/html']),
  () => request('POST /oauth/authorize', [form, 'Origin: https://evil.example'], 'email=a&password=b'),
  (n) => request('POST /oauth/authorize', [form], `transaction=k1.${n}&email=a%40b.c&password=b`),
  () => request('GET /oauth/callback?state=nothing', ['Accept: text/html']),
  () => request('POST /oauth/register', [json], '{"redirect_uris":["javascript:alert(1)"]}'),
  () => request('POST /oauth/revoke', [form], 'token=x'),
  () => request('POST /oauth/introspect', [form], 'token=x'),
  () => request('POST /oauth/device_authorization', [form], 'client_id=nobody'),
  (n) => request(`GET /nothing/${n}`),
  () => request('GET /.well-known/nothing', ['Accept: text/html']),
  () => request('GET /mcp').replace(host, 'evil.example'),
  () => request('PUT /oauth/token', [form], 'a'),
  () => request('GET /oauth/%2e%2e/mcp'),
  () => request('GET /mcp', [`Cookie: sb-x-auth-token=${'y'.repeat(6000)}`]),
]

const answers: Record<string, number> = {}
let sent = 0
let skipped = 0
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
  socket.on('close', () => {
    answers['closed'] = (answers['closed'] ?? 0) + 1
    setTimeout(() => openLane(index), reopenMs)
  })
}
for (let index = 0; index < connections; index += 1) openLane(index)

const begin = performance.now()
let due = 0
const timer = setInterval(() => {
  const until = ((performance.now() - begin) / 1000) * perSecond
  const batches = new Map<number, string>()
  for (; due < until; due += 1) {
    const index = due % connections
    const lane = lanes[index]
    // Do not send an unresponsive server more than it can hold.
    if (!lane || lane.waiting > 400) {
      skipped += 1
      continue
    }
    const made = kinds[Math.floor(Math.random() * kinds.length)]?.(due) ?? ''
    batches.set(index, (batches.get(index) ?? '') + made)
    lane.waiting += 1
    sent += 1
  }
  for (const [index, batch] of batches) lanes[index]?.socket.write(batch, 'latin1')
}, tickMs)

process.stdin.on('data', () => {
  clearInterval(timer)
  const seconds = (performance.now() - begin) / 1000
  process.stdout.write(`${JSON.stringify({ sent, skipped, seconds, answers })}\n`, () => process.exit(0))
})
process.stdout.write('{"event":"ready"}\n')
