import { expect, test } from 'vitest'
import {
  captchaSamples,
  connectionsSample,
  connectSample,
  deviceEntrySample,
  deviceSample,
  errorSample,
  finishedSample,
  inEnglish,
  inGerman,
  loginSample,
  helpSample,
  messageSample,
  requestSample,
  secondFactorSample,
} from '../../../tests/support/pages/view-sample.ts'
import { connectPage } from './connect-page.ts'
import { connectionsPage, type ConnectionsView } from './connections-page.ts'
import { deviceEntryPage } from './device-entry-page.ts'
import { errorPage } from './error-page.ts'
import { helpPage } from './help-page.ts'
import { finishedPage, messagePage } from './finished-page.ts'
import { loginPage } from './login-page.ts'
import { secondFactorPage } from './code-page.ts'

const attack = `"'></title><script>alert(1)</script><img src=x onerror=alert(1)>&`
/** Members with a fixed set of values. */
const fixed = new Set(['kind', 'bridge', 'end', 'order', 'language'])

/** Returns a copy of `view` for each text in it, with the attack at the end of that text. */
function* attacksOn(view: unknown, path = ''): Generator<[path: string, view: unknown]> {
  if (typeof view === 'string') yield [path, `${view}${attack}`]
  if (view instanceof Set) yield [path, new Set([attack])]
  if (typeof view !== 'object' || view === null) return
  for (const [name, value] of Object.entries(view)) {
    if (fixed.has(name)) continue
    for (const [inner, changed] of attacksOn(value, `${path}.${name}`)) {
      yield [inner, Array.isArray(view) ? view.with(Number(name), changed) : { ...view, [name]: changed }]
    }
  }
}

const [connection] = connectionsSample.connections
const addresses: readonly [string, string] = ['192.0.2.1', '192.0.2.2']
const crowded: ConnectionsView = {
  ...connectionsSample,
  notice: { kind: 'ended', clientName: 'Quill' },
  connections: [false, true].flatMap((runsOnWeb) =>
    connection
      ? [
          {
            ...connection,
            runsOnWeb,
            client: { name: 'x', verifiedHost: 'claude.ai', describedBy: 'claude.ai' },
            lastUse: { usedAt: 0, address: '192.0.2.1', tool: 'add' },
            twoAddresses: { addresses, at: 0 },
            replays: { count: 1, lastAt: 0, addresses },
          },
        ]
      : [],
  ),
  waiting: [
    { grant: { id: 'x', createdAt: 0 }, client: { name: 'x' }, isDevice: false, permissions: ['read'] },
  ],
  ended: (['key_used_twice', 'signed_out_elsewhere', 'renewal_refused', 'not_allowed'] as const).map(
    (end) => ({
      client: { name: 'x', verifiedHost: 'claude.ai' },
      endedAt: 0,
      end,
    }),
  ),
}
const client = { name: 'x', verifiedHost: 'claude.ai', uri: 'https://claude.ai/about' }
const login = { ...loginSample, email: 'ada@example.com', error: 'Wrong.' }
const links = {
  privacyUrl: 'https://a.example',
  termsUrl: 'https://b.example',
  supportUrl: 'https://c.example',
}

const render = <View>(page: (view: View) => string, view: View): [(view: never) => string, View] => [
  page,
  view,
]

test.each<[name: string, [page: (view: never) => string, view: unknown]]>([
  ['login', render(loginPage, { ...login, links, subject: { ...requestSample, client } })],
  [
    'login, unproven',
    render(loginPage, { ...login, subject: { ...requestSample, client: { name: 'x', describedBy: 'x' } } }),
  ],
  [
    'login for a device',
    render(loginPage, { ...login, subject: deviceSample, captcha: captchaSamples.turnstile }),
  ],
  [
    'second factor',
    render(secondFactorPage, {
      ...secondFactorSample,
      error: 'Wrong.',
      factors: [
        { id: '1', label: 'a' },
        { id: '2', label: 'b' },
      ],
    }),
  ],
  ['device entry', render(deviceEntryPage, { ...deviceEntrySample, userCode: 'WDJB-MJHT', error: 'Wrong.' })],
  ['connections', render(connectionsPage, crowded)],
  ['no connections', render(connectionsPage, { ...connectionsSample, connections: [] })],
  ['connect', render(connectPage, { ...connectSample, publicTools: new Set(['add']) })],
  ['error', render(errorPage, errorSample)],
  ['finished', render(finishedPage, finishedSample)],
  ['message', render(messagePage, messageSample)],
  ['help', render(helpPage, helpSample)],
])('every text of the view is escaped: %s', (_name, [page, sample]) => {
  for (const language of [inEnglish, inGerman]) {
    const view = { ...(sample as object), language }
    const scripts = (html: string): number => html.split('<script').length
    const plain = page(view as never)
    const attacks = [...attacksOn(view)]
    expect(attacks.length).toBeGreaterThan(2)
    for (const [path, hostile] of attacks) {
      const html = page(hostile as never)
      expect(html, path).not.toMatch(/<script>alert|<img|"'>/)
      expect(scripts(html), path).toBe(scripts(plain))
    }
  }
})
