import { connect } from 'node:net'
import { createSignal } from '@drawbridge/shared/async.ts'
import { afterEach, expect, it } from 'vitest'
import { type Listener, listen } from './listener.ts'

let listener: Listener
afterEach(() => listener.close())

it('a listener accepts a session cookie of 128 KiB, more than the default of Node', async () => {
  listener = await listen(async (request) => new Response(String(request.headers.get('cookie')?.length)), {
    host: '127.0.0.1',
    port: 0,
  })
  const response = await fetch(`http://127.0.0.1:${listener.port}/`, {
    headers: { cookie: 'x'.repeat(131_072) },
  })
  expect(await response.text()).toBe('131072')
})

it('a closing listener lets a running request end', async () => {
  const [finish, begun] = [createSignal(), createSignal()]
  listener = await listen(
    async () => {
      begun.give()
      await finish.given
      return new Response('done')
    },
    { host: '127.0.0.1', port: 0 },
  )
  const running = fetch(`http://127.0.0.1:${listener.port}/`)
  await begun.given
  const closing = listener.close()
  finish.give()
  expect(await (await running).text()).toBe('done')
  await closing
})

it('a closing listener does not wait for a connection without a request', async () => {
  const serve = async (): Promise<Response> => new Response('')
  listener = await listen(serve, { host: '127.0.0.1', port: 0 })
  const socket = connect(listener.port, '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await fetch(`http://127.0.0.1:${listener.port}/`)
  await listener.close()
  await closed
}, 5000)

it('a closing listener waits for the work of a request whose client has left', async () => {
  const steps: string[] = []
  const [finish, begun, gone] = [createSignal(), createSignal(), createSignal()]
  listener = await listen(
    async (request) => {
      request.signal.addEventListener('abort', () => gone.give())
      begun.give()
      await finish.given
      steps.push('request done')
      return new Response('nobody reads this')
    },
    { host: '127.0.0.1', port: 0 },
  )
  const socket = connect(listener.port, '127.0.0.1', () =>
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'),
  )
  await begun.given
  socket.destroy()
  await gone.given
  const closing = listener.close().then(() => steps.push('closed'))
  // No connection is left: only the request itself can still be pending.
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  finish.give()
  await closing
  expect(steps).toEqual(['request done', 'closed'])
})

it('a listener rejects with an error that names a port in use', async () => {
  listener = await listen(async () => new Response(''), { host: '127.0.0.1', port: 0 })
  const again = listen(async () => new Response(''), { host: '127.0.0.1', port: listener.port })
  await expect(again).rejects.toThrow(String(listener.port))
})
