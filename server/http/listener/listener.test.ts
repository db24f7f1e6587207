import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type Listener, listen } from './listener.ts'

let listener: Listener
afterEach(() => listener.close())

/** Sends raw bytes and returns everything received. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString()
    })
    socket.on('close', () => resolve(received))
    socket.on('error', reject)
  })
}

describe('listen', () => {
  it('takes a session cookie of 128 KiB, which the default of Node refuses', async () => {
    listener = await listen(async (request) => new Response(String(request.headers.get('cookie')?.length)), {
      host: '127.0.0.1',
      port: 0,
    })
    const response = await fetch(`http://127.0.0.1:${listener.port}/`, {
      headers: { cookie: 'x'.repeat(131_072) },
    })
    expect(await response.text()).toBe('131072')
  })

  it('more than 144 KiB of headers is 431 with a reason', async () => {
    listener = await listen(async () => new Response('never'), { host: '127.0.0.1', port: 0 })
    const answer = await exchange(
      listener.port,
      `GET / HTTP/1.1\r\nHost: x\r\nCookie: ${'x'.repeat(150_000)}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(answer).toContain('larger than 147456 bytes')
  })

  it.each<[string, string]>([
    ['a host with a blank', 'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n'],
    ['an empty host', 'GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
    ['a port out of range', 'GET / HTTP/1.1\r\nHost: a:99999\r\nConnection: close\r\n\r\n'],
  ])('%s is 400 with JSON', async (_name, text) => {
    listener = await listen(async (request) => new Response(request.url), { host: '127.0.0.1', port: 0 })
    const answer = await exchange(listener.port, text)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('{"error":"invalid_request"')
  })

  it('closing lets a running request end', async () => {
    let finish = (): void => {}
    const held = new Promise<void>((resolve) => {
      finish = resolve
    })
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    listener = await listen(
      async () => {
        begin()
        await held
        return new Response('done')
      },
      { host: '127.0.0.1', port: 0 },
    )
    const running = fetch(`http://127.0.0.1:${listener.port}/`)
    await begun
    const closing = listener.close()
    finish()
    expect(await (await running).text()).toBe('done')
    await closing
  })

  it('closing waits for what a request still does after its client has gone', async () => {
    const steps: string[] = []
    let finish = (): void => {}
    const held = new Promise<void>((resolve) => {
      finish = resolve
    })
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    let hangUp = (): void => {}
    const gone = new Promise<void>((resolve) => {
      hangUp = resolve
    })
    listener = await listen(
      async (request) => {
        request.signal.addEventListener('abort', () => hangUp())
        begin()
        await held
        steps.push('request done')
        return new Response('nobody reads this')
      },
      { host: '127.0.0.1', port: 0 },
    )
    const socket = connect(listener.port, '127.0.0.1', () =>
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'),
    )
    await begun
    socket.destroy()
    await gone
    const closing = listener.close().then(() => steps.push('closed'))
    // No connection is left: only the request itself can still be pending.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    finish()
    await closing
    expect(steps).toEqual(['request done', 'closed'])
  })

  it('a taken port is an error that names it', async () => {
    listener = await listen(async () => new Response(''), { host: '127.0.0.1', port: 0 })
    const again = listen(async () => new Response(''), { host: '127.0.0.1', port: listener.port })
    await expect(again).rejects.toThrow(String(listener.port))
  })
})
