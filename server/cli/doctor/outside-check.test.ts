import { expect, it, onTestFinished, vi } from 'vitest'
import { probeOutside } from './outside-check.ts'

/** Probes a server whose stream check answers with two events that are that far apart, the first time, the second and so on. */
async function probeStreams(...gapsMs: readonly number[]) {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let requests = 0
  async function* events(gapMs: number): AsyncGenerator<Uint8Array> {
    yield Buffer.from('data: 1\n\n')
    vi.advanceTimersByTime(gapMs)
    yield Buffer.from('data: 2\n\n')
  }
  const fetch = async ({ url }: Request): Promise<Response> => {
    if (!url.endsWith('/mcp/stream-check')) return new Response(null, { status: 404 })
    return new Response(ReadableStream.from(events(gapsMs[requests++] ?? 0)))
  }
  const { stream } = await probeOutside('https://mcp.example.com', { fetch })
  return { isHeld: stream.isHeld, requests }
}

it.each([
  [[1000], false, 1],
  [[0, 1000], false, 2],
  [[0, 0, 1000], true, 2],
])('events %j ms apart count as held back: %s, after %i requests', async (gapsMs, isHeld, requests) => {
  expect(await probeStreams(...gapsMs)).toEqual({ isHeld, requests })
})
