import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigError, createDrawbridge } from './library.ts'

describe('createDrawbridge', () => {
  it('answers requests for its base URL, and for the web app beside it', async () => {
    const { fetch, fetchApp, close } = createDrawbridge({
      baseUrl: 'http://localhost:3000',
      store: 'memory:',
      log: 'silent',
    })
    const metadata = await fetch(new Request('http://localhost:3000/.well-known/oauth-authorization-server'))
    expect(await metadata.json()).toMatchObject({ issuer: 'http://localhost:3000' })
    expect((await fetch(new Request('http://localhost:3000/mcp'))).status).toBe(401)
    expect((await fetchApp?.(new Request('http://localhost:8788/')))?.status).toBe(200)
    await close()
  })

  it('keeps everything in the file it is given', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'drawbridge-library-'))
    const settings = {
      baseUrl: 'http://localhost:3000',
      store: `sqlite:${folder}/deep/server.db`,
      log: 'silent',
    }
    const register = new Request('http://localhost:3000/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/cb'], token_endpoint_auth_method: 'none' }),
    })
    const first = createDrawbridge(settings)
    const { client_id: clientId } = (await (await first.fetch(register)).json()) as { client_id: string }
    await first.close()
    const second = createDrawbridge(settings)
    const ready = await second.fetch(new Request('http://localhost:3000/readyz'))
    expect(await ready.json()).toEqual({ status: 'ok', checks: { store: 'ok', keys: 'ok', provider: 'ok' } })
    const asked = new URLSearchParams({ client_id: clientId, redirect_uri: 'http://127.0.0.1:1/cb' })
    const known = await second.fetch(new Request(`http://localhost:3000/oauth/authorize?${asked.toString()}`))
    expect(known.status).toBe(303)
    await second.close()
    rmSync(folder, { recursive: true })
  })

  it('reports every fault of its settings at once', () => {
    const faulty = (): unknown =>
      createDrawbridge({ baseUrl: 'nothing', sessionTtl: 'long', store: 'floppy:' })
    expect(faulty).toThrow(ConfigError)
    expect(faulty).toThrow(/baseUrl.*sessionTtl.*store/s)
  })
})
