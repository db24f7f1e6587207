import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type Answer, openConnection } from './connection.ts'
import { openLoad } from './load.ts'
import { createRefreshWalker } from './walkers.ts'

let server: Server
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

/** Answers every request with what `answer` sends on its socket. */
async function serve(answer: (socket: Socket, request: string) => void): Promise<number> {
  server = createServer((socket) => {
    sockets.add(socket)
    socket.on('data', (chunk) => answer(socket, chunk.toString()))
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

async function ask(port: number): Promise<Answer | undefined> {
  const connection = await openConnection(port)
  return new Promise((resolve) => connection.send('GET / HTTP/1.1\r\n\r\n', resolve))
}

describe('openConnection', () => {
  it.each<[name: string, parts: string[], expected: Answer]>([
    [
      'one with a length',
      ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'],
      { status: 200, body: 'hello' },
    ],
    [
      'one in pieces',
      ['HTTP/1.1 201 Cre', 'ated\r\ncontent-length:5\r\n\r\nhe', 'llo'],
      { status: 201, body: 'hello' },
    ],
    ['an empty one', ['HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n'], { status: 400, body: '' }],
    [
      'one in chunks',
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n', '3\r\nllo\r\n0\r\n\r\n'],
      { status: 200, body: 'hello' },
    ],
  ])('takes %s', async (_name, parts, expected) => {
    const port = await serve((socket) => {
      const [first = '', ...rest] = parts
      socket.write(first)
      for (const part of rest) setImmediate(() => setImmediate(() => socket.write(part)))
    })
    expect(await ask(port)).toEqual(expected)
  })

  it.each<[name: string, text: string]>([
    ['before the answer', ''],
    ['within the answer', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe'],
  ])('a connection that breaks %s is no answer', async (_name, text) => {
    const port = await serve((socket) => socket.end(text))
    expect(await ask(port)).toBeUndefined()
  })
})

const target = { host: 'a', path: '/token', clientId: 'client', resource: undefined }

function tokenAnswer(token: string): string {
  const body = JSON.stringify({ refresh_token: token })
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

const presentedIn = (request: string): string =>
  new URLSearchParams(request.split('\r\n\r\n')[1]).get('refresh_token') ?? ''

describe('openLoad', () => {
  it('walks every chain, each request with the token of the last answer', async () => {
    const current = new Set(['one 0', 'two 0', 'three 0'])
    let unknown = 0
    const port = await serve((socket, request) => {
      const presented = presentedIn(request)
      if (!current.delete(presented)) unknown += 1
      const [name, step] = presented.split(' ')
      const next = `${name} ${Number(step) + 1}`
      current.add(next)
      socket.write(tokenAnswer(next))
    })
    const seen = new Set<string>()
    const load = await openLoad(port, [
      createRefreshWalker(target, ['one 0', 'two 0'], seen),
      createRefreshWalker(target, ['three 0'], seen),
    ])
    const result = await load.run(50)
    load.close()
    expect(unknown).toBe(0)
    expect(result).toMatchObject({ errors: 0, wrong: undefined })
    expect(result.completed).toBe(seen.size)
    expect(result.latencies).toHaveLength(result.completed)
    expect([...current].toSorted().map((token) => token.split(' ')[0])).toEqual(['one', 'three', 'two'])
  })

  it.each<[name: string, answers: string[]]>([
    ['a token that was there before', [tokenAnswer('b'), tokenAnswer('b')]],
    ['an answer without a token', [tokenAnswer('b'), 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}']],
    ['a refusal', [tokenAnswer('b'), 'HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\n{}']],
  ])('%s is an error, and ends its connection', async (_name, answers) => {
    const port = await serve((socket) => socket.write(answers.shift() ?? ''))
    const load = await openLoad(port, [createRefreshWalker(target, ['a'], new Set())])
    const result = await load.run(5000)
    load.close()
    expect(result).toMatchObject({ completed: 1, errors: 1 })
    expect(result.seconds).toBeLessThan(5)
    expect(result.wrong).toBeDefined()
  })
})
