import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createMemoryBrowser,
  type MemoryBrowser,
  newCookie,
  newTab,
} from '../../tests/support/extension/platform/memory-browser.ts'
import { Popup } from './popup/popup.ts'
import type { PopupView } from './popup/popup-view.ts'
import { maskToken } from './display-text.ts'
import { readSessions } from './session/session-reader.ts'
import {
  appAllowed,
  cookieName,
  jwt,
  now,
  secrets,
  sessionJson,
} from '../../tests/support/extension/core/session-fixture.ts'

/** All screens: whatever is in the jar, the popup shows exactly one per reading. */
const kinds = [
  'no-web-page',
  'no-permission',
  'signed-out',
  'incomplete',
  'corrupt',
  'expired',
  'several',
  'ready',
]

async function viewsOf(browser: MemoryBrowser): Promise<PopupView[]> {
  const views: PopupView[] = []
  const popup = new Popup(browser, (view) => views.push(view))
  await popup.start()
  expect(views).toHaveLength(1)
  expect(kinds).toContain(views[0]?.kind)
  const [first] = views
  if (first?.kind === 'several') {
    for (const { id } of first.sessions) await popup.act({ kind: 'choose', sessionId: id })
  }
  await popup.act({ kind: 'show-all' })
  await popup.act({ kind: 'copy', format: 'token' })
  popup.close()
  return views
}

/** Checks that no view contains a token or secret of a session, and that every view survives structured cloning. */
function expectHarmless(views: readonly PopupView[], tokens: readonly string[]): void {
  const text = JSON.stringify(views)
  for (const secret of [...secrets, ...tokens])
    expect(text).not.toContain(JSON.stringify(secret).slice(1, -1))
  expect(JSON.parse(text)).toBeInstanceOf(Array)
  expect(text.length).toBeLessThan(200_000)
}

const markup = fc.constantFrom(
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  "javascript:alert('x')",
  '&lt;b&gt;',
  '{{constructor.constructor("alert(1)")()}}',
  '\u202Eevil\u0000\u2028',
  '\uD800',
  '__proto__',
)
const hostileText = fc.oneof(
  markup,
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.constant('A'.repeat(4096)),
)
const hostileJson = fc.oneof(
  hostileText,
  fc.integer(),
  fc.double(),
  fc.constantFrom(1e300, -1e300, Number.MAX_SAFE_INTEGER, -0, null, true),
  fc.array(hostileText, { maxLength: 3 }),
  fc.dictionary(hostileText, hostileText, { maxKeys: 3 }),
  fc.constant(nested(200)),
)
const claimName = fc.constantFrom(
  'iss',
  'sub',
  'email',
  'exp',
  'iat',
  'nbf',
  'aud',
  'role',
  '__proto__',
  'constructor',
)
const hostileClaims = fc
  .array(fc.tuple(fc.oneof(claimName, hostileText), hostileJson), { maxLength: 8 })
  .map((entries) => Object.fromEntries(entries))

function nested(depth: number): unknown {
  let value: unknown = 'x'
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

describe('cookies of every shape', () => {
  const suffix = fc.constantFrom('', '.0', '.1', '.2', '.01', '.99999999999999999999', '-code-verifier')
  const name = fc
    .tuple(fc.oneof(fc.constant('abc'), hostileText), suffix)
    .map(([project, end]) => `sb-${project}-auth-token${end}`)
  const base64 = (text: string): string => `base64-${encodeBase64url(encodeUtf8(text))}`
  const session = hostileClaims.map((claims) => sessionJson(jwt(claims)))
  const invalidUtf8 = fc.uint8Array({ maxLength: 60 }).map((bytes) => `base64-${encodeBase64url(bytes)}`)
  const value = fc.oneof(
    hostileText,
    invalidUtf8,
    session,
    session.map(base64),
    session.map((text) => encodeURIComponent(text.replaceAll(/[\uD800-\uDFFF]/g, ''))),
    session.map((text) => base64(text).slice(0, text.length)),
    fc.json().map(base64),
    fc.constantFrom(
      '%',
      '%zz',
      '""',
      'base64-',
      'base64l-1-',
      'base64-AAAA',
      '{"__proto__":{"access_token":"PROVIDER-TOKEN-SECRET"}}',
    ),
  )
  const cookie = fc.record({
    name,
    value,
    path: fc.constantFrom('/', '/other'),
    httpOnly: fc.boolean(),
    secure: fc.boolean(),
    partition: fc.constantFrom(undefined, 'https://example.com', 'https://other.example'),
  })
  const entries = fc.dictionary(name, value, { maxKeys: 3 })

  it('never break the reading, and no secret is shown', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(cookie, { maxLength: 8 }),
        entries,
        fc.boolean(),
        async (cookies, localStorage, mayRead) => {
          const browser = createMemoryBrowser({
            cookies: cookies.map(newCookie),
            tabs: [newTab({ localStorage })],
            allowed: new Set(mayRead ? appAllowed : []),
          })
          const tab = { id: 1, url: 'https://app.example.com/', incognito: false }
          const reading = await readSessions(browser, tab, undefined)
          const tokens = reading.kind === 'sessions' ? reading.sessions.map(({ token }) => token) : []
          for (const token of tokens) expect(token).toMatch(/^[\w.~+/-]+=*$/)
          expectHarmless(
            await viewsOf(browser),
            tokens.filter((token) => token.length > 40),
          )
        },
      ),
      { numRuns: 150 },
    )
  })
})

describe('bombs', () => {
  const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
  it('a claim that is nested too deep for the stack', async () => {
    const part = (text: string): string => encodeBase64url(encodeUtf8(text))
    const token = `${part('{"alg":"none"}')}.${part(`{"exp":${now + 60},"x":${deep(20_000)}}`)}.`
    const [view] = await viewsOf(
      createMemoryBrowser({
        cookies: [newCookie({ name: cookieName, value: JSON.stringify({ access_token: token }) })],
      }),
    )
    expect(view).toMatchObject({ kind: 'ready', masked: maskToken(token) })
  })

  it('hundreds of projects with names of 4 KB', async () => {
    const cookies = Array.from({ length: 180 }, (_, index) =>
      newCookie({
        name: `sb-${index}<b>${'n'.repeat(4000)}-auth-token`,
        value: sessionJson(jwt({ sub: String(index) })),
      }),
    )
    const browser = createMemoryBrowser({ cookies })
    const popupViews: PopupView[] = []
    await new Popup(browser, (view) => popupViews.push(view)).start()
    const [view] = popupViews
    expect(view?.kind === 'several' && view.sessions.length).toBe(180)
    const shown = view?.kind === 'several' ? view.sessions.map(({ project }) => project.length) : []
    expect(Math.max(...shown)).toBeLessThan(90)
  })
})
