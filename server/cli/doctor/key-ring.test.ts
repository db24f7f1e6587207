import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { keyChecks, readKeySource } from './file-check.ts'
import { contentChecks } from './store-check.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder, 'secret-keys')
})

const entry = (kid: string): string => `${kid}:${Buffer.alloc(32, kid).toString('base64')}`
const check = (generated = false): { kids: readonly string[]; findings: Finding[] } => {
  const facts = readKeySource({ kind: 'file', path, generated })
  return { kids: facts.kids, findings: findingsOf(keyChecks, facts) }
}

describe('doctor, on the key ring', () => {
  it('doctor says which key of a setting encrypts', () => {
    const keys = ['a', 'b', 'c'].map((kid) => ({ kid, key: new Uint8Array(32) }))
    const facts = readKeySource({ kind: 'ring', keys })
    expect(facts).toEqual({ kids: ['a', 'b', 'c'], path: undefined })
    expect(findingsOf(keyChecks, facts).map(({ message }) => message)).toEqual([
      'The key `a` in DRAWBRIDGE_SECRET_KEYS encrypts new sessions; `b`, `c` can still decrypt.',
    ])
  })

  it('doctor says that the key of a store in memory is lost with it', () => {
    expect(findingsOf(keyChecks, readKeySource({ kind: 'memory' }))).toMatchObject([
      { state: 'ok', message: expect.stringContaining('lost with everything in memory') },
    ])
  })

  it.each(['\n', ','])('doctor reads a key file with keys separated by %j', (separator) => {
    writeFileSync(path, [entry('a'), entry('b')].join(separator), { mode: 0o600 })
    const { findings, kids } = check()
    expect(findings.map(({ state }) => state)).toEqual(['ok'])
    expect(kids).toEqual(['a', 'b'])
  })

  it.each([
    [0o600, []],
    [0o400, []],
    [0o640, []],
    [0o604, ['key-file-mode']],
    [0o644, ['key-file-mode']],
    [0o602, ['key-file-mode']],
  ])('doctor reports a key file with the mode %o as failed: %j', (mode, failed) => {
    writeFileSync(path, entry('a'))
    chmodSync(path, mode)
    const { findings } = check()
    expect(findings.filter(({ state }) => state === 'fail').map(({ name }) => name)).toEqual(failed)
  })

  it('doctor says that the server creates a missing key file', () => {
    expect(check(true).findings[0]).toMatchObject({
      state: 'ok',
      message: expect.stringContaining('first start'),
    })
  })
})

it.each<[used: string[], ring: string[], state: string, message: RegExp, nextStep?: RegExp]>([
  [[], ['a'], 'ok', /No session is stored yet/],
  [['a'], ['a', 'b'], 'ok', /encrypted with the key `a`\.$/],
  [['a', 'b'], ['a', 'b'], 'warn', /encrypted with older keys: b\./],
  [['a', 'c'], ['a', 'b'], 'fail', /encrypted with `c`, which/, /^Put it back at the end/],
  [['a'], [], 'fail', /encrypted with `a`, which/, /^Put it back/],
  [['generated'], ['a'], 'fail', /encrypted with `generated`, which/, /from a trial.*DRAWBRIDGE_STORE/],
  [['c', 'generated'], ['a'], 'fail', /encrypted with `c`, `generated`/, /^Put it back/],
])('doctor compares the keys in use (%j) with the ring (%j): %s', (used, ring, state, message, nextStep) => {
  const facts = { schema: 1, newest: 1, kids: ring, used, otherProvider: 'https://other' }
  const [, finding, ...others] = findingsOf(contentChecks, facts)
  expect(finding).toMatchObject({
    name: 'sealing-keys',
    state,
    message: expect.stringMatching(message) as string,
  })
  if (nextStep) expect(finding?.fix).toMatch(nextStep)
  // Sessions with a missing key may be of another provider as well: the key comes first.
  expect(others.map(({ name }) => name)).toEqual(state === 'fail' ? [] : ['other-provider'])
})
