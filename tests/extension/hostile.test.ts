import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { PopupView } from '../../extension/core/popup/popup-view.ts'
import { describeBrowsers } from '../support/browsers/describe-browsers.ts'
import { launchBrowser } from '../support/browsers/launch-browser.ts'
import { reopen, viewOf } from '../support/browsers/popup-page.ts'
import { type SampleSite, startSampleSite } from '../support/browsers/sample-site.ts'
import { sessionSample, setCookies, tokenSample } from '../support/browsers/session-sample.ts'
import type { Tab, TestBrowser } from '../support/browsers/test-browser.ts'

const markup = '"><img src="x" onerror="globalThis.wasExecuted=1"><script>globalThis.wasExecuted=1</script>'
const usualName = 'sb-abcdefghijklmnopqrst-auth-token'
const soon = Math.floor(Date.now() / 1000) + 1800

/** Returns a session whose token has that payload, valid or not. */
function withPayload(payload: unknown): string[] {
  return withToken(tokenSample(payload))
}

function withToken(token: unknown): string[] {
  return setCookies({ ...sessionSample(), access_token: token, expires_at: soon })
}

/** Returns a cookie with that value unchanged. */
function raw(value: string, name: string = usualName): string[] {
  return [`${name}=${value}; Path=/`]
}

function base64(text: string | Buffer): string {
  return `base64-${Buffer.from(text).toString('base64url')}`
}

const nested = (open: string, close: string, depth: number): string =>
  open.repeat(depth) + close.repeat(depth)

const cases: [title: string, cookies: string[], view: PopupView['kind']][] = [
  [
    'markup in every claim',
    withPayload(
      Object.fromEntries([
        ...['email', 'sub', 'iss', 'aud', 'role', markup].map((name) => [name, markup]),
        ['exp', soon],
      ]),
    ),
    'ready',
  ],
  [
    'markup in the name',
    setCookies(sessionSample(), { name: 'sb-<b><script>x</script>-auth-token' }),
    'ready',
  ],
  ['markup and nothing else', raw(encodeURIComponent(markup)), 'corrupt'],
  ['a name of 3 kB', setCookies(sessionSample(), { name: `sb-${'a'.repeat(3000)}-auth-token` }), 'ready'],
  ['a name of 4 kB', raw('x', `sb-${'a'.repeat(4080)}-auth-token`), 'corrupt'],
  ['lists in lists', rawChunks(base64(nested('[', ']', 30_000))), 'corrupt'],
  ['objects in objects', rawChunks(base64(nested('{"a":', '}', 10_000).replace('}', '1}'))), 'corrupt'],
  [
    'claims in claims',
    withPayload({ exp: soon, email: JSON.parse(nested('[', ']', 500)) as unknown, deep: 'ok' }),
    'ready',
  ],
  ['300 claims', withPayload({ exp: soon, ...numbered(300) }), 'ready'],
  ['150 sessions', numberedSessions(150), 'several'],
  [
    'a prototype instead of a session',
    raw(base64(`{"__proto__":{"access_token":"${tokenSample({})}"},"constructor":{"prototype":{"a":1}}}`)),
    'corrupt',
  ],
  [
    'claims called like members of objects',
    withPayload(
      JSON.parse(
        `{"exp":${soon},"__proto__":{"email":"p@example.com"},"constructor":"c","toString":"t","hasOwnProperty":1}`,
      ),
    ),
    'ready',
  ],
  ['projects called like members of objects', numberedSessions(0, ['__proto__', 'constructor']), 'several'],
  [
    'bytes that are not UTF-8',
    raw(base64(Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]))),
    'corrupt',
  ],
  ['percent signs that are not UTF-8', raw('%ff%fe%c0%zz%'), 'corrupt'],
  ['bytes outside of ASCII', raw('\u00ff\u00e9'), 'corrupt'],
  ['half a character pair', withPayload({ exp: soon, email: '\ud800\udfff\ud800@example.com' }), 'ready'],
  [
    'text that runs backwards or hides',
    withPayload({ exp: soon, email: '\u202emoc.elpmaxe@ada\u202c\u0000\u200b\u0007' }),
    'ready',
  ],
  [
    'claims of other types',
    withPayload({ exp: soon, email: {}, sub: [1], iss: 5, aud: null, iat: 'x' }),
    'ready',
  ],
  ['a lifetime that is not a number', withPayload({ exp: 'tomorrow', email: 'a@example.com' }), 'ready'],
  ['a life longer than any calendar', withPayload({ exp: 1e300, email: 'a@example.com' }), 'ready'],
  ['a life before any calendar', withPayload({ exp: -1e300, email: 'a@example.com' }), 'expired'],
  ['a payload that is a list', withPayload([1, 2, 3]), 'ready'],
  ['a payload that is nothing', withPayload(null), 'ready'],
  ['a token that is not a JWT', withToken('not-a-jwt-but-a-token'), 'ready'],
  ['a token of 90 kB', withToken(tokenSample({ exp: soon, about: 'y'.repeat(50_000) })), 'ready'],
  ['a token that breaks out of a header', withToken('abc\r\nX-Evil: 1'), 'corrupt'],
  ['a token that breaks out of a shell', withToken("abc'; touch /tmp/x; '"), 'corrupt'],
  ['a token that is a number', withToken(42), 'corrupt'],
  ['more chunks than any session has', rawChunks('x'.repeat(3180 * 40)), 'corrupt'],
]

function rawChunks(value: string): string[] {
  const chunks = value.match(/.{1,3180}/g) ?? []
  return chunks.flatMap((chunk, index) => raw(chunk, `${usualName}.${index}`))
}

function numbered(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`claim-${index}`, markup]))
}

function numberedSessions(count: number, projects: string[] = []): string[] {
  const names = [...projects, ...Array.from({ length: count }, (_, index) => `project${index}`)]
  return names.flatMap((name) => setCookies(sessionSample(), { name: `sb-${name}-auth-token` }))
}

describeBrowsers('hostile sessions in %s', (kind) => {
  let site: SampleSite
  let browser: TestBrowser
  let tab: Tab
  let popup: Page

  beforeAll(async () => {
    site = await startSampleSite('app.example')
    browser = await launchBrowser(kind, { hosts: new Map([['*.app.example', site.port]]) })
    await browser.grant('*.app.example')
    tab = await browser.openTab('https://empty.app.example/')
    popup = await browser.openPopupFor(tab)
  })
  afterAll(async () => {
    await browser?.close()
    await site?.close()
  })

  it.each(cases)('%s', async (title, cookies, view) => {
    const host = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.app.example`
    site.add(host, { setCookies: cookies })
    await tab.page.goto(`https://${host}/`)
    await reopen(popup)
    expect(await viewOf(popup)).toBe(view)
    // Everything expanded, including what is shown only then.
    const seen = await popup.evaluate(() => {
      for (const details of document.querySelectorAll('details')) details.open = true
      const added =
        'img, iframe, object, link:not([rel=modulepreload]), style:not(head > style), script:not([src])'
      return {
        text: document.body.innerText.trim().length,
        added: document.querySelectorAll(added).length,
        executed: 'wasExecuted' in globalThis,
        wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
      }
    })
    expect(seen).toEqual({ text: expect.any(Number) as number, added: 0, executed: false, wide: false })
    expect(seen.text).toBeGreaterThan(40)
    expect(browser.complaints.splice(0)).toEqual([])
  })
})
