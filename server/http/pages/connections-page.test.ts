import { describe, expect, test } from 'vitest'
import { connectionsPage, type ConnectionsView, type ConnectionView } from './connections-page.ts'
import { connectionsSample } from '../../../tests/support/pages/view-sample.ts'

const forms = (page: string): string[] => page.match(/<form[\s\S]*?<\/form>/g) ?? []
const [first] = connectionsSample.connections
const one = (part: Partial<ConnectionView>): Partial<ConnectionsView> => ({
  connections: first ? [{ ...first, ...part }] : [],
})

describe('the controls of the connections page', () => {
  test('the connections page has a button for each connection and one for all, each behind a confirmation, and one to sign out', () => {
    const found = forms(connectionsPage(connectionsSample))
    expect(found).toHaveLength(5)
    for (const form of found) {
      expect(form).toContain('method="post" action="/account/connections"')
      expect(form).toContain(`name="form" value="${connectionsSample.form}"`)
    }
    expect(found.filter((form) => form.includes('value="end"'))).toHaveLength(3)
    const asking =
      /<details class="end-one">\s*<summary[^>]*>End…<\/summary>\s*<form[^>]*>(?:(?!<\/details>)[\s\S])*value="end"/g
    expect(connectionsPage(connectionsSample).match(asking)).toHaveLength(3)
    expect(connectionsPage(connectionsSample)).toMatch(/<details[^>]*>\s*<summary[\s\S]*value="end_all"/)
  })

  test('each button names its connection for screen readers', () => {
    const page = connectionsPage(connectionsSample)
    for (const [, id] of page.matchAll(/aria-describedby="(connection-\d)"/g)) {
      expect(page).toContain(`<h3 id="${id}">`)
    }
    expect(page.match(/<summary[^>]*aria-describedby="connection-\d"/g)).toHaveLength(3)
    expect(page.match(/<button[^>]*aria-describedby="connection-\d"/g)).toHaveLength(3)
  })

  test.each([
    [0, false],
    [1, false],
    [2, true],
  ])('the connections page offers to end all of %i connections: %s', (count, offered) => {
    const connections = connectionsSample.connections.slice(0, count)
    expect(connectionsPage({ ...connectionsSample, connections }).includes('end_all')).toBe(offered)
  })
})

const { now } = connectionsSample
const safety = {
  client: { name: 'Cursor' },
  endedAt: connectionsSample.now,
  end: 'key_used_twice',
} as const
const rows: readonly [string, Partial<ConnectionsView>, readonly string[], readonly string[]][] = [
  ['three', {}, ['3 connections', 'claude.ai', 'A device, connected with a code'], ['No app is connected']],
  ['none', { connections: [] }, ['No app is connected'], ['<li ', 'end_all']],
  ['one never used', one({ lastUse: undefined }), ['Not yet'], ['minute ago']],
  [
    'one used with a tool',
    one({ lastUse: { usedAt: now - 300, address: '203.0.113.7', tool: 'list_notes' } }),
    [
      '5 minutes ago</time> from <span class="address">203.0.113.7</span> with <span class="address">list_notes</span>',
    ],
    ['Used from'],
  ],
  [
    'no address and no tool',
    one({ lastUse: { usedAt: 0, address: undefined, tool: undefined } }),
    ['on 1 January 1970'],
    [' from <span', ' with <span'],
  ],
  [
    'one used from two addresses at once',
    one({ twoAddresses: { addresses: ['203.0.113.7', '198.51.100.9'], at: now - 7200 }, runsOnWeb: false }),
    [
      '<p class="alert"',
      'Used from <span class="address">203.0.113.7</span> and <span class="address">198.51.100.9</span> at the same time',
      '2 hours ago</time>. If one of them is not you, end this connection.',
    ],
    ['run on the web'],
  ],
  [
    'the same of an app that runs on the web is said more calmly',
    one({ twoAddresses: { addresses: ['203.0.113.7', '198.51.100.9'], at: now - 7200 }, runsOnWeb: true }),
    ['Used from', 'Apps that run on the web often have several addresses.', 'end this connection'],
    ['class="alert"'],
  ],
  [
    'nothing is connected: nothing is said about ending',
    { connections: [], waiting: [] },
    ['No app is connected'],
    ['does not sign you out'],
  ],
  ['more than are shown', { more: 7 }, ['10 connections', '7 older connections'], []],
  ['no email', { email: undefined }, [], ['signed in as']],
  [
    'something was done',
    { notice: { kind: 'ended', clientName: 'Quill' } },
    ['role="status"', '“<bdi>Quill</bdi>” is no longer connected'],
    ['role="alert"'],
  ],
  ['nothing could be done', { notice: { kind: 'form_refused' } }, ['role="alert"'], ['role="status"']],
  [
    'RFC 9700 4.14: a key that was used twice',
    { ended: [safety] },
    ['was disconnected for your security', 'its key was used twice', 'connect it again'],
    ['This is normal'],
  ],
  [
    'the provider’s session that ended is said more calmly',
    { ended: [{ ...safety, end: 'signed_out_elsewhere' }] },
    ['This is normal after changing a password'],
    ['for your security', 'class="alert"'],
  ],
]
test.each(rows)('the connections page describes %s', (_case, part, present, absent) => {
  const page = connectionsPage({ ...connectionsSample, ...part }).replaceAll(/\s+/g, ' ')
  for (const text of present) expect(page).toContain(text)
  for (const text of absent) expect(page).not.toContain(text)
})

test('a connection lists its permissions as sentences, and nothing if none are known', () => {
  const page = connectionsPage({ ...connectionsSample, ...one({ permissions: ['Read notes', 'Add notes'] }) })
  expect(page).toMatch(/<dt>Allowed to<\/dt>\s*<dd>Read notes<\/dd><dd>Add notes<\/dd>/)
  expect(connectionsPage({ ...connectionsSample, ...one({ permissions: [] }) })).not.toContain('Allowed to')
})

test('a connection used from two addresses has one notice, also if its key was sent from both', () => {
  const addresses = ['203.0.113.7', '198.51.100.9'] as const
  const both = { twoAddresses: { addresses, at: now - 7200 }, replays: { count: 1, lastAt: now, addresses } }
  for (const runsOnWeb of [true, false]) {
    const page = connectionsPage({ ...connectionsSample, ...one({ ...both, runsOnWeb }) }).replaceAll(
      /\s+/g,
      ' ',
    )
    expect(page.split(/class="(?:alert|note-box)"/)).toHaveLength(2)
    expect(page).toMatch(
      /Used from .{10,200} at the same time<\/strong>, <time [^>]*>2 hours ago<\/time>\. The same key/,
    )
    expect(page.split('end this connection')).toHaveLength(2)
  }
})
