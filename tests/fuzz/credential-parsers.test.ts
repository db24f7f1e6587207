import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { readSessionCookie } from '@drawbridge/shared/session-cookie/session-cookie.ts'
import { writeSessionCookies } from '@drawbridge/shared/session-cookie/session-cookie-write.ts'
import { expect } from 'vitest'
import { assertedClientId } from '../../server/core/clients/client-assertion.ts'
import { createLoginCookies } from '../../server/http/cookies.ts'
import { start } from '../support/server/core/grant-sample.ts'
import { fuzz, it } from './fuzz.ts'
import { damaged, hostileHeader, hostileJson, hostileText } from './hostile-text.ts'

const name = 'sb-project-auth-token'
const base64url = (text: string): string => Buffer.from(text).toString('base64url')

it('session cookies: a session, none, or a reason', async () => {
  const session = {
    access_token: 'header.claims.signature',
    refresh_token: 'refresh',
    expires_at: start + 60,
  }
  const whole = writeSessionCookies({ ...session, filler: 'x'.repeat(4000) }, { name })
    .map((cookie) => `${cookie.name}=${cookie.value}`)
    .join('; ')
  const json = JSON.stringify(session)
  const fragments = [
    whole,
    `${name}=`,
    `${name}.0=`,
    `${name}.1=`,
    `${name}.10=`,
    '; ',
    'base64-',
    base64url(json),
    encodeURIComponent(json),
    json,
    '[',
    '"access_token"',
  ]
  const found = new Map<string, number>()
  await fuzz({
    make: (chance) => hostileHeader(chance, fragments),
    work(header) {
      const reading = readSessionCookie(parseCookieHeader(header), { name, now: start })
      found.set(reading.kind, (found.get(reading.kind) ?? 0) + 1)
      if (reading.kind === 'session' && typeof reading.accessToken !== 'string') throw new Error('No token.')
    },
  })
  for (const kind of ['session', 'absent', 'invalid']) expect(found.get(kind), kind).toBeGreaterThan(100)
})

it('the CSRF cookie: 43 characters of base64url or none', () => {
  const cookie = createLoginCookies('https://mcp.example.com').csrf
  const fragments = ['__Host-drawbridge-browser=', 'a'.repeat(43), '; ', '="', '"']
  return fuzz({
    make: (chance) => new Headers({ cookie: hostileHeader(chance, fragments) }),
    work(headers) {
      const value = cookie.read({ headers } as Request)
      if (value !== undefined && !/^[\w-]{43}$/.test(value)) throw new Error('This is not a CSRF value.')
    },
  })
})

it('JWTs: three parts of which two are objects, or nothing (RFC 7519 section 7.2)', async () => {
  const claims = { sub: 'a', exp: start, iss: 'b', aud: ['c'] }
  const fragments = [
    base64url('{"alg":"ES256","kid":"a"}'),
    base64url(JSON.stringify(claims)),
    '.',
    'e30',
    'bnVsbA',
    'W10',
    base64url('{"alg":"none"}'),
    '=',
    '-_',
  ]
  let read = 0
  await fuzz({
    make(chance) {
      if (chance.once(2)) return hostileText(chance, fragments)
      const header = chance.once(3) ? hostileJson(chance, ['alg'], 2) : { alg: 'ES256' }
      const body = damaged(chance, claims, ['a', 'https://mcp.example.com'])
      return `${base64url(JSON.stringify(header))}.${base64url(JSON.stringify(body))}.${chance.pick(['', 'AA', '=', 'A'])}`
    },
    work(token) {
      const jwt = readJwt(token)
      assertedClientId(token)
      if (!jwt) return
      read += 1
      for (const part of [jwt.header, jwt.claims]) {
        if (typeof part !== 'object' || part === null || Array.isArray(part))
          throw new Error('This is not a JWT.')
      }
      if (jwt.expiresAt !== undefined && !Number.isFinite(jwt.expiresAt)) throw new Error('This never ends.')
    },
  })
  expect(read).toBeGreaterThan(1000)
})

it('JSON-RPC messages: one of four kinds, or a reason (JSON-RPC 2.0 sections 4 and 5)', () => {
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'whoami', arguments: {}, _meta: {} },
  }
  const response = { jsonrpc: '2.0', id: 1, result: {}, error: { code: -32_600, message: 'no' } }
  return fuzz({
    make: (chance) =>
      damaged(chance, chance.once(3) ? response : message, [
        'tools/list',
        '2.0',
        'notifications/cancelled',
        '$',
      ]),
    work(given) {
      const parsed = parseJsonRpcMessage(given)
      if (parsed.kind === 'invalid' && parsed.reason === '') throw new Error('There is no reason.')
    },
  })
})
