import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { toResponse } from '@drawbridge/shared/text-response.ts'
import { afterEach, expect, it, vi } from 'vitest'
import { callerSample } from '../../tests/support/server/mcp/tool-fixture.ts'
import { listen } from '../http/listener/listener.ts'
import { openEventStream } from './event-stream.ts'
import { OpenStreams } from './open-streams.ts'

afterEach(() => vi.useRealTimers())

it('a supervised stream sends the events that it has without waiting for a timer', async () => {
  const streams = new OpenStreams({ now: () => 0 })
  const serve = async (): Promise<Response> => {
    const stream = openEventStream(() => {})
    stream.send({ of: 1 })
    return toResponse(streams.track(stream.response, { caller: callerSample, kind: 'call' }))
  }
  const listener = await listen(serve, { host: '127.0.0.1', port: 0 })
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const [response] = (await once(get({ port: listener.port }), 'response')) as [IncomingMessage]
  const [chunk] = (await once(response, 'data')) as [Buffer]
  expect(chunk.toString()).toBe('event: message\ndata: {"of":1}\n\n')
  streams.close()
  vi.useRealTimers()
  await listener.close()
}, 5000)
