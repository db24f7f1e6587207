import { expect, it } from 'vitest'
import { describeParser } from '../../tests/support/settings/describe-parser.ts'
import { parseSecretKeys, parseSecretKeySource, parseStore, storeName } from './store-address.ts'

describeParser(
  'parseStore',
  parseStore,
  [
    ['memory:', { kind: 'memory' }],
    ['sqlite:server.db', { kind: 'sqlite', path: 'server.db' }],
    ['sqlite:/var/lib/a b/x:y.db', { kind: 'sqlite', path: '/var/lib/a b/x:y.db' }],
    ['postgres://localhost/x', { kind: 'postgres', url: 'postgres://localhost/x' }],
    ['postgresql://u:p@db:5432/x', { kind: 'postgres', url: 'postgresql://u:p@db:5432/x' }],
  ],
  ['', 'memory', 'memory:x', 'sqlite:', 'sqlite', 'server.db', 'postgres://', 'mysql://localhost/x'],
)

it.each([
  ['memory:', 'memory:'],
  ['sqlite:a.db', 'sqlite:a.db'],
  ['postgres://user:hunter2@db.example:5432/main?sslmode=require', 'postgres://db.example:5432/main'],
])('storeName of %s holds no password', (text, name) => {
  expect(storeName(parseStore(text))).toBe(name)
})

const key = new Uint8Array(32).map((_, index) => index * 7)
const text = Buffer.from(key).toString('base64')

describeParser(
  'parseSecretKeys',
  parseSecretKeys,
  [
    [`a:${text}`, [{ kid: 'a', key }]],
    [`a:${Buffer.from(key).toString('base64url')}`, [{ kid: 'a', key }]],
    [
      ` new-1:${text} , old_1:${text}`,
      [
        { kid: 'new-1', key },
        { kid: 'old_1', key },
      ],
    ],
  ],
  [
    '',
    text,
    'a:c2hvcnQ=',
    `a:${Buffer.alloc(31).toString('base64')}`,
    `a:${Buffer.alloc(33).toString('base64')}`,
    `a:${text}, a:${text}`,
    `a.b:${text}`,
    `${'k'.repeat(65)}:${text}`,
    `a:${text.slice(0, -2)}!=`,
    `a:${text}, b:short`,
  ],
)

describeParser(
  'parseSecretKeySource',
  parseSecretKeySource,
  [
    ['file:keys/ring', { kind: 'file', path: 'keys/ring' }],
    [`a:${text}`, { kind: 'ring', keys: [{ kid: 'a', key }] }],
  ],
  ['', 'file:', 'a:short'],
)
