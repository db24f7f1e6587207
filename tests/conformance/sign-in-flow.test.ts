import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hashSecret } from '../../server/core/seal.ts'
import { type DocumentServer, startDocumentServer } from '../e2e/document-server.ts'
import type { Browser, Visit } from '../support/server/browser.ts'
import {
  account,
  baseUrl,
  type DrawbridgeFixture,
  redirectUri,
  startDrawbridge,
} from '../support/server/drawbridge-fixture.ts'

let documents: DocumentServer
let documentId: string
let drawbridge: DrawbridgeFixture
let clientId: string
beforeAll(async () => {
  documents = await startDocumentServer()
  documentId = `${documents.origin}/client.json`
  documents.publish('/client.json', {
    client_id: documentId,
    client_name: 'Quill',
    redirect_uris: ['https://quill.example/cb'],
  })
  drawbridge = await startDrawbridge()
  clientId = (await drawbridge.register()).client_id
})
// Sign-ins count against the limit of the account, which applies per quarter of an hour.
beforeEach(() => drawbridge.runtime.advance(900))
afterAll(async () => {
  await drawbridge.close()
  await documents.close()
})

const pendingOf = async (browser: Browser): Promise<number> => {
  const binding = /drawbridge-browser=([\w-]+)/.exec(browser.cookieHeader(baseUrl))?.[1] ?? ''
  return (await drawbridge.app.store.listSocialSignIns(hashSecret(binding), drawbridge.runtime.now())).length
}

describe('the answer to the client', () => {
  it('RFC 6749 3.1.2, OAuth 2.1 2.3, RFC 9700 4.11.2: keeps the query that the redirect URI has, behind a link until a person has signed in', async () => {
    const target = 'https://quill.example/cb?tenant=1&x=%20'
    const { client_id: id } = await drawbridge.register({ redirect_uris: [target] })
    const asked = { redirect_uri: target }
    const good = await drawbridge.signIn(id, undefined, asked)
    expect(good.url.href).toMatch(
      /^https:\/\/quill\.example\/cb\?tenant=1&x=%20&code=[\w-]{43}&state=state-1&iss=/,
    )
    const refused = (): Promise<Visit> =>
      drawbridge.browser().visit(drawbridge.authorizeUrl(id, { ...asked, response_type: 'token' }))
    const before = await refused()
    expect([before.response?.status, before.url.origin]).toEqual([400, baseUrl])
    expect(before.html).toContain('href="https://quill.example/cb?tenant=1&amp;x=%20&amp;error=')
    expect(before.html).not.toMatch(/http-equiv|<script/)
    const redeemed = await drawbridge.redeem(id, good.url.searchParams.get('code') ?? '', asked)
    expect(redeemed.status).toBe(200)
    const bad = await refused()
    expect(bad.url.href).toMatch(
      /^https:\/\/quill\.example\/cb\?tenant=1&x=%20&error=unsupported_response_type&/,
    )
  })

  it.each([
    ['marks of a URL', 'a b&c=d#e'],
    ['per cent signs', '%2B+%'],
    ['beyond ASCII', 'ü€😀'],
    ['markup', '"><script>'],
    ['blanks around it', ' a  '],
    ['4096 characters', 'x'.repeat(4096)],
  ])('RFC 6749 4.1.2: state comes back as it was: %s', async (_what, state) => {
    const { url } = await drawbridge.signIn(clientId, undefined, { state })
    expect(url.searchParams.get('state')).toBe(state)
    expect(url.searchParams.has('code')).toBe(true)
  })

  it('RFC 9207 2, MCP auth Authorization-Response-Validation: a page that leads to an app by its own scheme names the issuer, too', async () => {
    const target = 'cursor://anysphere.cursor-mcp/oauth/callback'
    const { client_id: id } = await drawbridge.register({ redirect_uris: [target] })
    const { html } = await drawbridge.signIn(id, undefined, { redirect_uri: target })
    const link = /href="(cursor:[^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(new URL(link).searchParams.get('iss')).toBe(baseUrl)
    expect(new URL(link).searchParams.has('code')).toBe(true)
  })

  it('RFC 9700 4.12, OAuth 2.1 7.5.4: follows the posted password by 303, so that no form is sent on', async () => {
    const browser = drawbridge.browser()
    const page = await browser.visit(drawbridge.authorizeUrl(clientId))
    const transaction = /name="transaction" value="([^"]*)"/.exec(page.html)?.[1] ?? ''
    const response = await drawbridge.postForm(
      '/oauth/authorize',
      { ...account, transaction },
      { cookie: browser.cookieHeader(baseUrl), origin: baseUrl, 'sec-fetch-site': 'same-origin' },
    )
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toContain(`${redirectUri}?code=`)
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})

it('OAuth 2.1 7.5.2: PKCE is required of a client with a secret, too', async () => {
  const { client_id: id } = await drawbridge.register({ token_endpoint_auth_method: 'client_secret_post' })
  const { url } = await drawbridge.browser().visit(drawbridge.authorizeUrl(id, { code_challenge: '' }))
  expect(url.origin + url.pathname).toBe(redirectUri)
  expect(url.searchParams.get('error')).toBe('invalid_request')
  expect(url.searchParams.has('code')).toBe(false)
})

describe('the redemption', () => {
  it('RFC 7636 B: the example of the standard works', async () => {
    const { url } = await drawbridge.signIn(clientId, undefined, {
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    })
    const response = await drawbridge.redeem(clientId, url.searchParams.get('code') ?? '', {
      code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
    })
    expect(response.status).toBe(200)
  })

  it('RFC 6749 3.2: parameters that are unknown or empty count as left out', async () => {
    const unused = { audience: 'x', nonce: 'y', client_secret: '', scope: '' }
    const response = await drawbridge.redeem(clientId, await drawbridge.code(clientId), unused)
    expect(response.status).toBe(200)
    const { refresh_token: token } = (await response.json()) as { refresh_token: string }
    expect((await drawbridge.refresh(clientId, token, unused)).status).toBe(200)
  })

  it('RFC 6749 5.1, RFC 6749 3.3: the answer names the scope when it is another than was asked for', async () => {
    const { url } = await drawbridge.signIn(clientId, undefined, { scope: 'openid mcp admin' })
    const response = await drawbridge.redeem(clientId, url.searchParams.get('code') ?? '')
    expect(await response.json()).toMatchObject({ scope: 'mcp' })
  })
})

describe('consent', () => {
  it('RFC 6749 10.2, MCP auth Confused-Deputy, MCP security Confused-Deputy, OAuth 2.1 7.3.1: a browser that allowed a client is asked again, by it and by every other', async () => {
    const browser = drawbridge.browser()
    expect((await drawbridge.signIn(clientId, browser)).url.searchParams.has('code')).toBe(true)
    const { client_id: other } = await drawbridge.register()
    for (const id of [clientId, other]) {
      const again = await browser.visit(drawbridge.authorizeUrl(id))
      expect(again.response?.status).toBe(200)
      expect(again.html).toContain('Sign in and allow')
    }
  })

  it('MCP security Confused-Deputy: nothing is kept for the way to the provider before the click', async () => {
    const browser = drawbridge.browser()
    const page = await browser.visit(drawbridge.authorizeUrl(clientId))
    expect(await pendingOf(browser)).toBe(0)
    const away = await browser.submit(page, 'provider', { provider: 'google' })
    expect(away.url.pathname).toMatch(/^\/google/)
    expect(await pendingOf(browser)).toBe(1)
  })

  it('MCP security Confused-Deputy: refuses a return without a sign-in that left for it', async () => {
    const browser = drawbridge.browser()
    await browser.visit(drawbridge.authorizeUrl(clientId))
    const { response, url } = await browser.visit(`${baseUrl}/oauth/callback?code=stolen&state=made-up`)
    expect(response?.status).toBe(400)
    expect(url.origin).toBe(baseUrl)
  })
})

describe('redirect URIs of private-use schemes', () => {
  it('a list without entries allows no private-use scheme', async () => {
    const strict = await startDrawbridge({ privateUseRedirectUris: ',' })
    const target = 'cursor://anysphere.cursor-mcp/oauth/callback'
    await expect(strict.register({ redirect_uris: [target] })).rejects.toThrow('400')
    await strict.close()
  })
})

describe('a client id metadata document', () => {
  it('CIMD 4.5, MCP auth Client-ID-Metadata-Documents: returns to an address of the document alone', async () => {
    const asked = { redirect_uri: 'https://quill.example/cb' }
    const good = await drawbridge.signIn(documentId, undefined, asked)
    expect(good.url.href).toMatch(/^https:\/\/quill\.example\/cb\?code=/)
    for (const uri of ['https://quill.example/cb/x', 'https://quill.example/cb?x', redirectUri]) {
      const bad = await drawbridge.browser().visit(drawbridge.authorizeUrl(documentId, { redirect_uri: uri }))
      expect(bad.response?.status).toBe(400)
      expect(bad.url.origin).toBe(baseUrl)
    }
  })
})

describe('a session id of the earlier revisions', () => {
  it('MCP security Session-Hijacking: a session id is not accepted as a credential', async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const response = await drawbridge.mcp(message, { 'mcp-session-id': 'A'.repeat(32) })
    expect(response.status).toBe(401)
  })
})
