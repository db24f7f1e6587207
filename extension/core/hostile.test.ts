import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Chance, createChance } from '../../tests/fuzz/chance.ts'
import { damaged, hostileJson, hostileText } from '../../tests/fuzz/hostile-text.ts'
import {
  createMemoryBrowser,
  type MemoryBrowser,
  type MemoryCookie,
  type MemoryWorld,
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

/** The popup shows exactly one screen per reading for any jar. */
async function viewsOf(browser: MemoryBrowser): Promise<PopupView[]> {
  const views: PopupView[] = []
  const popup = new Popup(browser, (view) => views.push(view))
  await popup.start()
  expect(views).toHaveLength(1)
  expect(views[0]?.kind).not.toBe('loading')
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

const markup = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  '&lt;b&gt;',
  '{{constructor.constructor("alert(1)")()}}',
  '\u202Eevil\u0000\u2028',
]
const claims = { iss: 'a', sub: 'b', email: 'c', exp: now + 60, iat: now, nbf: now, aud: ['d'], role: 'e' }
const base64 = (text: string): string => `base64-${encodeBase64url(encodeUtf8(text))}`

function hostileName(chance: Chance): string {
  const end = chance.once(2)
    ? ''
    : chance.pick(['.0', '.1', '.2', '.01', '.99999999999999999999', '-code-verifier'])
  return `sb-${chance.once(2) ? 'abc' : hostileText(chance, markup)}-auth-token${end}`
}

function hostileValue(chance: Chance): string {
  const session = sessionJson(jwt(Object(damaged(chance, claims, markup)) as object))
  const bytes = Uint8Array.from({ length: chance.below(60) }, () => chance.below(256))
  return chance.pick([
    session,
    base64(session),
    base64(session).slice(0, session.length),
    base64(sessionJson(hostileText(chance, markup))),
    encodeURIComponent(session.replaceAll(/[\uD800-\uDFFF]/g, '')),
    base64(JSON.stringify(hostileJson(chance, markup))),
    `base64-${encodeBase64url(bytes)}`,
    '{"__proto__":{"access_token":"PROVIDER-TOKEN-SECRET"}}',
    hostileText(chance, [...markup, 'base64-', 'base64l-1-', 'base64-AAAA']),
  ])
}

function hostileCookie(chance: Chance): MemoryCookie {
  return newCookie({
    name: hostileName(chance),
    value: hostileValue(chance),
    path: chance.pick(['/', '/other']),
    httpOnly: chance.once(2),
    secure: chance.once(2),
    partition: chance.once(3) ? undefined : chance.pick(['https://example.com', 'https://other.example']),
  })
}

function hostileWorld(chance: Chance): Partial<MemoryWorld> {
  const several = <Value>(most: number, make: (chance: Chance) => Value): Value[] =>
    Array.from({ length: chance.below(most + 1) }, () => make(chance))
  const entries = several(3, (chance) => [hostileName(chance), hostileValue(chance)] as const)
  return {
    cookies: several(8, hostileCookie),
    tabs: [newTab({ localStorage: Object.fromEntries(entries) })],
    allowed: new Set(chance.once(2) ? appAllowed : []),
  }
}

it('cookies of any shape break nothing and show no secret', async () => {
  const worlds = fc.noShrink(fc.integer().map((number) => hostileWorld(createChance(number))))
  let found = 0
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const browser = createMemoryBrowser(world)
      const tab = { id: 1, url: 'https://app.example.com/', incognito: false }
      const reading = await readSessions(browser, tab, undefined)
      const tokens = reading.kind === 'sessions' ? reading.sessions.map(({ token }) => token) : []
      for (const token of tokens) expect(token).toMatch(/^[\w.~+/-]+=*$/)
      found += tokens.length
      expectHarmless(
        await viewsOf(browser),
        tokens.filter((token) => token.length > 40),
      )
    }),
    { numRuns: 150 },
  )
  expect(found).toBeGreaterThan(10)
})

describe('bombs', () => {
  const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
  it('the popup survives a claim nested too deep for the stack', async () => {
    const part = (text: string): string => encodeBase64url(encodeUtf8(text))
    const token = `${part('{"alg":"none"}')}.${part(`{"exp":${now + 60},"x":${deep(20_000)}}`)}.`
    const [view] = await viewsOf(
      createMemoryBrowser({
        cookies: [newCookie({ name: cookieName, value: JSON.stringify({ access_token: token }) })],
      }),
    )
    expect(view).toMatchObject({ kind: 'ready', masked: maskToken(token) })
  })

  it('the popup survives hundreds of projects with names of 4 KB', async () => {
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
