import { describe, expect, it } from 'vitest'
import { readBody } from './read-body.ts'
import { ReceivedResponse } from './received-response.ts'
import { onRequest, serveRaw, testClient } from './testing/server-fixture.ts'

function received(): { response: ReceivedResponse; closed: (Error | null)[] } {
  const closed: (Error | null)[] = []
  const source = { resume() {}, close: (cause: Error | null) => (closed.push(cause), cause) }
  return { response: new ReceivedResponse(200, {}, source), closed }
}

describe('a response that is here', () => {
  it('is taken once, without a stream, and is over then', async () => {
    const { response, closed } = received()
    response.push(Buffer.from('all'))
    expect([response.isWhole, response.takeWhole()]).toEqual([false, undefined])
    response.end()
    expect([response.isWhole, response.waitingBytes]).toEqual([true, 3])
    expect(response.takeWhole()?.toString()).toBe('all')
    expect(closed).toEqual([null])
    expect([response.isWhole, response.waitingBytes, response.takeWhole()]).toEqual([false, 0, undefined])
    expect(await response.body.toArray()).toEqual([])
  })

  it('may be empty', () => {
    const { response } = received()
    response.end()
    expect(response.takeWhole()).toHaveLength(0)
  })

  it.each([
    ['before anything came', 0],
    ['after the first piece', 1],
    ['after the second piece', 2],
    ['after the end', 3],
  ])('is read as a stream by whoever asks for that %s, and not taken then', async (_when, asked) => {
    const { response, closed } = received()
    const steps = [
      () => response.push(Buffer.from('one ')),
      () => response.push(Buffer.from('two')),
      () => response.end(),
    ]
    steps.slice(0, asked).forEach((step) => step())
    const reading = response.body.toArray()
    steps.slice(asked).forEach((step) => step())
    expect([response.isWhole, response.takeWhole()]).toEqual([false, undefined])
    expect(Buffer.concat((await reading) as Buffer[]).toString()).toBe('one two')
    expect(closed).toEqual([null])
  })

  it('holds the source back when nobody reads', () => {
    const { response } = received()
    const taken = Array.from({ length: 3 }, () => response.push(Buffer.alloc(65_536)))
    expect(taken).toEqual([true, false, false])
  })

  it('cannot be taken when it failed first', async () => {
    const { response, closed } = received()
    response.push(Buffer.from('all'))
    response.end()
    response.fail(new Error('cancelled'))
    expect(response.takeWhole()).toBeUndefined()
    await expect(response.body.toArray()).rejects.toThrow('cancelled')
    expect(closed).toEqual([new Error('cancelled')])
  })
})

describe('a response of a server', () => {
  const sized = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nall'
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nal\r\n1\r\nl\r\n0\r\n\r\n'

  it.each([
    ['a length', sized],
    ['chunks', chunked],
  ])('that comes at once, with %s, is whole', async (_kind, text) => {
    const server = await serveRaw((socket) => onRequest(socket, () => socket.write(text)))
    const client = testClient()
    const response = await client.send({ method: 'GET', url: server.origin, headers: {} })
    expect(response.isWhole).toBe(true)
    expect(response.takeWhole?.()?.toString()).toBe('all')
    const again = await client.send({ method: 'GET', url: server.origin, headers: {} })
    expect((await readBody(again, 3)).toString()).toBe('all')
    expect(server.sockets).toHaveLength(1)
  })

  it('that is too large for the reader is no answer, although it is here', async () => {
    const server = await serveRaw((socket) => onRequest(socket, () => socket.write(chunked)))
    const response = await testClient().send({ method: 'GET', url: server.origin, headers: {} })
    await expect(readBody(response, 2)).rejects.toMatchObject({ fault: 'too_large' })
  })

  it('that is cancelled when it is here cannot be taken', async () => {
    const abort = new AbortController()
    const server = await serveRaw((socket) => onRequest(socket, () => socket.write(sized)))
    const { signal } = abort
    const response = await testClient().send({ method: 'GET', url: server.origin, headers: {}, signal })
    abort.abort()
    expect(response.takeWhole?.()).toBeUndefined()
    await expect(readBody(response, 10)).rejects.toMatchObject({ fault: 'aborted' })
  })
})
