import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import { upstreamAt, upstreamOf } from '../../core/gateway/upstream-document.ts'
import { systemRuntime } from '../../startup/system-runtime.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { probeUpstream, upstreamChecks } from './upstream-check.ts'

const checkUpstream = async (...given: Parameters<typeof probeUpstream>): Promise<Finding[]> =>
  findingsOf(upstreamChecks, await probeUpstream(...given))

let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function upstream(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<HttpUpstream> {
  server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const reading = upstreamAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
  if (reading.kind !== 'read') throw new Error('The address is faulty.')
  return reading.value as HttpUpstream
}

const summary = async (given: HttpUpstream, runtime: Parameters<typeof probeUpstream>[1] = systemRuntime) =>
  (await checkUpstream(given, runtime)).map(({ name, state }) => `${name} ${state}`)

const listsTools = (request: IncomingMessage, response: ServerResponse): void => {
  const isOpening = request.headers['mcp-session-id'] === undefined
  response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'a' })
  response.end(isOpening ? '{"result":{}}' : '{"result":{"tools":[]}}')
}

describe('doctor, on an HTTP upstream', () => {
  it('doctor passes an HTTP upstream that refuses unauthenticated clients', async () => {
    expect(await summary(await upstream((_, response) => response.writeHead(401).end()))).toEqual([
      'upstream ok',
      'upstream-public ok',
    ])
  })

  it('doctor reports an HTTP upstream that lists its tools without an assertion: a warning on this machine, a failure elsewhere', async () => {
    const given = await upstream(listsTools)
    expect(await summary(given)).toEqual(['upstream ok', 'upstream-public warn'])
    const { port } = new URL(given.url)
    const runtime = {
      fetch: (request: Request) =>
        systemRuntime.fetch(new Request(request.url.replace('mcp.internal', '127.0.0.1'), request)),
    }
    expect(await summary({ ...given, url: `http://mcp.internal:${port}/mcp` }, runtime)).toEqual([
      'upstream ok',
      'upstream-public fail',
    ])
  })

  it('doctor sends no session id to an HTTP upstream without sessions', async () => {
    const given = await upstream((request, response) => {
      const isKnown = request.headers['mcp-session-id'] === undefined
      response.writeHead(isKnown ? 200 : 404).end('{"result":{"tools":[]}}')
    })
    expect(await summary(given)).toEqual(['upstream ok', 'upstream-public warn'])
  })

  it('doctor fails an HTTP upstream that breaks off after the first answer', async () => {
    const given = await upstream((request, response) => {
      if (request.headers['mcp-session-id'] !== undefined) request.socket.destroy()
      else response.writeHead(200, { 'mcp-session-id': 'a' }).end('{"result":{}}')
    })
    expect(await summary(given)).toEqual(['upstream fail'])
  })

  it('doctor requires an HTTP upstream with public tools to accept unauthenticated clients', async () => {
    const policy = { allow: ['*'], deny: [], publicTools: new Set(['hours']), scopes: [] }
    const closed = await upstream((_, response) => response.writeHead(401).end())
    const [, finding] = await checkUpstream({ ...closed, policy }, systemRuntime)
    expect(finding).toMatchObject({
      state: 'fail',
      message: expect.stringContaining('calling hours requires a sign-in'),
    })
    server?.close()
    expect(await summary({ ...(await upstream(listsTools)), policy })).toEqual([
      'upstream ok',
      'upstream-public warn',
      'public-tools note',
    ])
  })

  it('doctor warns about an HTTP upstream that learns who calls from headers alone', async () => {
    const given = await upstream((_, response) => response.writeHead(401).end())
    expect(await summary({ ...given, identity: ['headers'] })).toContain('upstream-identity warn')
  })

  it('doctor fails an HTTP upstream that does not answer', async () => {
    const given = await upstream(listsTools)
    server?.close()
    const [finding] = await checkUpstream(given, systemRuntime)
    expect(finding).toMatchObject({
      name: 'upstream',
      state: 'fail',
      message: expect.stringContaining('nothing listens there'),
    })
  })
})

it('doctor warns about an upstream command that runs as the user of Drawbridge', async () => {
  const reading = upstreamOf('no-such-program', [])
  if (reading.kind !== 'read' || reading.value.kind !== 'command') throw new Error('The command is faulty.')
  expect(await checkUpstream(reading.value, systemRuntime)).toMatchObject([
    { name: 'upstream-user', state: 'warn' },
  ])
  const user = { firstUid: 1001, lastUid: 1001, gid: 1001 }
  expect(await checkUpstream({ ...reading.value, user }, systemRuntime)).toEqual([])
})
