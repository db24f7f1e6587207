import { describe, expect, it } from 'vitest'
import { errorOf } from '../support/bridge/process/bridge-child.ts'
import { staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'
import { oddRemote, type Oddities, openBridge, signInAndCall } from './odd-server.ts'

/** What frameworks do that have their endpoints at a path with a slash: every other is sent there. */
function slashed(
  paths: readonly string[],
  status: number,
  to = (path: string): string => `${path}/`,
): Oddities {
  return {
    answer(incoming, response) {
      const [path = '', query] = (incoming.url ?? '').split('?')
      if (!paths.includes(path)) return false
      incoming.resume()
      const location = `${to(path)}${query === undefined ? '' : `?${query}`}`
      response.writeHead(status, { Location: location }).end()
      return true
    },
    path: (path) => path.replace(/\/(?=\?|$)/, ''),
  }
}

describe.concurrent('a redirect within the origin', () => {
  it.each([307, 308])(
    'a redirect within the origin with %i keeps every message and method of a session',
    (status) =>
      staged(async (stage) => {
        const remote = await oddRemote(stage, slashed(['/mcp'], status), { era: 'legacy' })
        const { bridge } = await openBridge(stage, remote.url)
        expect(await bridge.call('echo', { text: 'moved' })).toBe('moved')
        await until(() => remote.streams.size === 1)
        remote.changeTools()
        await bridge.find(({ method }) => method === 'notifications/tools/list_changed')
        await bridge.close()
        expect(remote.log()).toEqual(expect.arrayContaining(['notifications/initialized', 'GET', 'DELETE']))
        expect(remote.methods().filter((name) => name === 'tools/call')).toHaveLength(1)
      })(),
  )

  it.each([307, 308])(
    'a redirect within the origin with %i is followed for every request of a sign-in',
    (status) =>
      staged(async (stage) => {
        const paths = ['/mcp', '/register', '/token', '/.well-known/oauth-authorization-server']
        const remote = await oddRemote(stage, slashed(paths, status), { auth: true })
        expect(await signInAndCall(stage, remote.url)).toBe('signed in')
      })(),
  )

  it('a redirect within the origin is followed to the stream of the transport of 2024-11-05', () =>
    staged(async (stage) => {
      const remote = await oddRemote(stage, slashed(['/sse', '/messages'], 307), { transport: 'sse' })
      const { bridge } = await openBridge(stage, remote.sseUrl)
      expect(await bridge.call('echo', { text: 'moved' })).toBe('moved')
    })())

  it('redirects from one to the next are followed three times, and no more', () =>
    staged(async (stage) => {
      let asked = 0
      const { url } = await stage.remote({
        era: 'legacy',
        handle({ path, body, response }) {
          if (body['method'] !== 'tools/call') return false
          asked += 1
          response.writeHead(307, { Location: `${path}x` }).end()
          return true
        },
      })
      const { bridge } = await openBridge(stage, url)
      const { data, message } = errorOf(await bridge.ask('tools/call', { name: 'echo' }))
      expect(data).toMatchObject({ code: 'server_refused' })
      expect(message).toContain('moved to')
      expect(asked).toBe(4)
    })())
})

describe.concurrent('a redirect', () => {
  it.each<[what: string, status: number, location: (origin: string, other: string) => string]>([
    ['to another port', 307, (_, other) => `${other}/mcp`],
    ['to another port, for good', 308, (_, other) => `${other}/mcp`],
    ['without a scheme to another server', 307, (_, other) => other.replace('http:', '')],
    ['to the same port by another scheme', 307, (origin) => `${origin.replace('http:', 'https:')}/mcp`],
    [
      'to the same server by another name',
      307,
      (origin) => `${origin.replace('127.0.0.1', 'localhost')}/mcp`,
    ],
    ['with a password', 307, (origin) => `${origin.replace('//', '//user:secret@')}/other`],
    ['that turns the call into a GET', 303, (origin) => `${origin}/other`],
    ['that may turn the call into a GET', 302, (origin) => `${origin}/other`],
    ['to where it is', 307, (origin) => `${origin}/mcp`],
  ])('a redirect %s is not followed: the message and its token go nowhere', (_what, status, location) =>
    staged(async (stage) => {
      const other = await stage.remote()
      const remote = await stage.remote({
        era: 'legacy',
        handle({ body, origin, response }) {
          if (body['method'] !== 'tools/call') return false
          response.writeHead(status, { Location: location(origin, other.origin) }).end()
          return true
        },
      })
      const flags = ['--header', 'Authorization: Bearer secret']
      const { bridge } = await openBridge(stage, remote.url, { flags })
      const { data, message } = errorOf(await bridge.ask('tools/call', { name: 'echo' }))
      expect(data).toMatchObject({ code: 'server_refused' })
      expect(message).toContain('moved to')
      expect(message).not.toContain('secret')
      expect(other.received).toEqual([])
      expect(remote.received.filter(({ path }) => path !== '/mcp')).toEqual([])
      expect(remote.methods().filter((name) => name === 'tools/call')).toHaveLength(1)
    })(),
  )
})
