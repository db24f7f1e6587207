import type { IncomingMessage } from 'node:http'
import {
  brotliCompressSync,
  createBrotliCompress,
  createDeflate,
  createDeflateRaw,
  createGzip,
  gzipSync,
} from 'node:zlib'
import { type Duplex, PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { errorOf, peakMegabytes } from '../support/bridge/process/bridge-child.ts'
import { staged } from '../support/bridge/process/stage.ts'
import { type Head, oddRemote, openBridge, signInAndCall } from './odd-server.ts'

/** Gives each piece at once, as servers do that stream. */
function flushed(compress: ReturnType<typeof createGzip> | ReturnType<typeof createBrotliCompress>): Duplex {
  compress.on('pipe', (source) => source.on('data', () => compress.flush()))
  return compress
}

/** Codings that servers and proxies apply unasked. */
const codings: Record<string, { coding: string; compress: () => Duplex }> = {
  gzip: { coding: 'gzip', compress: () => flushed(createGzip()) },
  'gzip by its old name': { coding: 'X-GZip', compress: () => flushed(createGzip()) },
  br: { coding: 'br', compress: () => flushed(createBrotliCompress()) },
  deflate: { coding: 'deflate', compress: () => flushed(createDeflate()) },
  'deflate without a header': { coding: 'deflate', compress: () => flushed(createDeflateRaw()) },
  'a charset in the place of a coding': { coding: 'UTF-8', compress: () => new PassThrough() },
}

const encoded =
  (name: string) =>
  ({ headers }: Head): Duplex | undefined => {
    const { coding, compress } = codings[name] ?? { coding: '', compress: () => new PassThrough() }
    headers['content-encoding'] = coding
    return compress()
  }

const text = 'Grüße 東京 '.repeat(5000)

describe.concurrent('a server that compresses unasked', () => {
  it.each(Object.keys(codings))(
    'a server that compresses unasked with %s is signed in at and called: metadata, tokens and answers',
    (name) =>
      staged(async (stage) => {
        const asked = new Set<unknown>()
        const change = (head: Head, { headers }: IncomingMessage): Duplex | undefined => {
          // The link of the sign-in is visited by another client.
          if (headers['user-agent']?.startsWith('drawbridge') === true) asked.add(headers['accept-encoding'])
          return encoded(name)(head)
        }
        const remote = await oddRemote(stage, { change }, { auth: true })
        expect(await signInAndCall(stage, remote.url)).toBe('signed in')
        expect([...asked]).toEqual(['identity'])
      })(),
  )

  it.each(Object.keys(codings))(
    'a server that compresses unasked with %s streams events, which arrive while the stream stays open',
    (name) =>
      staged(async (stage) => {
        const remote = await oddRemote(
          stage,
          { change: encoded(name) },
          {
            era: 'legacy',
            handle({ body, events }) {
              if (body['method'] !== 'tools/call') return false
              const result = { content: [{ type: 'text', text }] }
              events(`data: ${JSON.stringify({ jsonrpc: '2.0', id: body['id'], result })}\n\n`)
              return true
            },
          },
        )
        const { bridge } = await openBridge(stage, remote.url)
        expect(await bridge.call('echo')).toBe(text)
      })(),
  )

  it('a response that is compressed twice is understood', () =>
    staged(async (stage) => {
      const { url } = await stage.remote({
        era: 'legacy',
        handle({ body, json }) {
          if (body['method'] !== 'tools/call') return false
          const result = { content: [{ type: 'text', text }] }
          const answer = JSON.stringify({ jsonrpc: '2.0', id: body['id'], result })
          json(200, brotliCompressSync(gzipSync(answer)), { 'Content-Encoding': 'gzip, br' })
          return true
        },
      })
      const { bridge } = await openBridge(stage, url)
      expect(await bridge.call('echo')).toBe(text)
    })())
})

/** Gzip of so many megabytes, one thousandth of their size. */
const bomb = (megabytes: number): Buffer => gzipSync(Buffer.alloc(megabytes * 1024 * 1024, ' '))

describe.concurrent('a compressed answer', () => {
  it.each<[what: string, body: () => Buffer, coding: string, code: string]>([
    ['of few bytes that become more than 64 MB', () => bomb(400), 'gzip', 'server_too_large'],
    ['that is not what its header says', () => Buffer.from('{"jsonrpc":"2.0"}'), 'br', 'network_protocol'],
  ])('a compressed answer %s fails its call by name, and the next one works', (_what, body, coding, code) =>
    staged(async (stage) => {
      let calls = 0
      const { url } = await stage.remote({
        era: 'legacy',
        handle({ body: { method }, json }) {
          if (method !== 'tools/call') return false
          calls += 1
          if (calls > 1) return false
          json(200, body(), { 'Content-Encoding': coding })
          return true
        },
      })
      const { bridge } = await openBridge(stage, url)
      const failed = errorOf(await bridge.ask('tools/call', { name: 'echo', arguments: { text: 'a' } }))
      expect(failed.data).toMatchObject({ code })
      expect(await bridge.call('echo', { text: 'next' })).toBe('next')
      expect(peakMegabytes(bridge)).toBeLessThan(300)
    })(),
  )
})
