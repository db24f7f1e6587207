import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BenchRemote, startRemote } from './remote.ts'

let scratch: string
let remote: BenchRemote | undefined
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'drawbridge-bench-'))
})
afterEach(async () => {
  await remote?.child.stop()
  rmSync(scratch, { recursive: true })
})

async function start(kind: 'open' | 'guarded'): Promise<BenchRemote> {
  remote = await startRemote({ scratch }, kind)
  return remote
}

function post({ url }: BenchRemote, token?: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
}

describe('the server behind the bridges', () => {
  it('lets everybody in who may come, when it is open', async () => {
    const open = await start('open')
    expect(open.accessToken).toBeUndefined()
    expect(await (await post(open)).json()).toMatchObject({ result: { tools: [{ name: 'echo' }, {}] } })
    expect((await fetch(new URL('/.well-known/oauth-authorization-server', open.url))).status).toBe(404)
  })

  it('says where tokens come from to whoever has none, when it is guarded', async () => {
    const guarded = await start('guarded')
    expect((await post(guarded, guarded.accessToken)).status).toBe(200)
    expect((await post(guarded, `${guarded.accessToken}x`)).status).toBe(401)
    const refused = await post(guarded)
    expect(refused.status).toBe(401)
    const at = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
    const { resource, authorization_servers: servers } = (await (await fetch(at)).json()) as {
      resource: string
      authorization_servers: string[]
    }
    expect(resource).toBe(guarded.url)
    const metadata = await fetch(new URL('/.well-known/oauth-authorization-server', servers[0]))
    expect(await metadata.json()).toMatchObject({ issuer: new URL(guarded.url).origin })
  })

  it('counts requests since it was last asked, without those that end a session', async () => {
    const open = await start('open')
    await post(open)
    await fetch(new URL('/elsewhere', open.url))
    await fetch(open.url, { method: 'DELETE' })
    expect(await open.setDelay(0)).toEqual({ requests: 2, codeGrants: 0, refreshes: 0 })
    expect(await open.setDelay(0)).toMatchObject({ requests: 0 })
  })

  it('delays every answer, not only those to messages', async () => {
    const open = await start('open')
    await open.setDelay(100)
    for (const path of ['/mcp', '/.well-known/oauth-protected-resource']) {
      const begin = performance.now()
      await fetch(new URL(path, open.url))
      expect(performance.now() - begin).toBeGreaterThan(95)
    }
  })
})
