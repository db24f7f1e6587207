import { describe, expect, it } from 'vitest'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { providerChecks } from './provider-check.ts'
import type { ProbeResult } from './probe.ts'

const now = 1_800_000_000

function answeredAt(seconds: number, more: Record<string, string> = {}): ProbeResult {
  const date = new Date(seconds * 1000).toUTCString()
  return { kind: 'answered', text: '', status: 200, headers: new Headers({ date, ...more }), json: undefined }
}

function checkClock(answers: readonly ProbeResult[]): Finding[] {
  return findingsOf(providerChecks, {
    config: { providerJwtSecret: undefined },
    keySet: undefined,
    answers,
    now,
  })
}

const nowhere: ProbeResult = { kind: 'unreachable', reason: 'gone' }

function answer(status: number, json?: Record<string, unknown>): ProbeResult {
  return { kind: 'answered', status, headers: new Headers(), text: '', json }
}

describe('doctor, on the clock', () => {
  it.each([
    [0, 'ok', /agrees with the provider's\.$/],
    [-30, 'ok', /within 30 s/],
    [31, 'warn', /31 s behind/],
    [-300, 'warn', /300 s ahead of/],
    [301, 'fail', /301 s behind/],
    [-4000, 'fail', /expired or not yet valid/],
  ])('doctor reports a clock difference of %i s as %s', (offset, state, message) => {
    const [finding] = checkClock([answeredAt(now + offset)])
    expect(finding?.state).toBe(state)
    expect(finding?.message).toMatch(message)
  })

  it('doctor adds the age of a cached response to its date', () => {
    expect(checkClock([answeredAt(now - 600, { age: '600' })])[0]?.state).toBe('ok')
  })

  it('doctor reads the clock of the first response with a date, and says nothing without one', () => {
    const without = answer(200)
    expect(checkClock([nowhere, without, answeredAt(now - 3600)])[0]?.state).toBe('fail')
    expect(checkClock([nowhere, without])).toEqual([])
  })
})

const es256 = { kty: 'EC', crv: 'P-256', kid: 'a' }
const rs256 = { kty: 'RSA', kid: 'b', alg: 'RS256', use: 'sig' }

it.each<
  [what: string, keySet: ProbeResult, secret: string | undefined, state: string | undefined, message: RegExp]
>([
  [
    'are ES256 and RS256',
    answer(200, { keys: [es256, es256, rs256] }),
    undefined,
    'ok',
    /2 ES256 and 1 RS256/,
  ],
  ['are none: a shared secret', answer(200, { keys: [] }), undefined, 'fail', /no one can sign in/],
  ['are none, and the secret is known', answer(200, { keys: [] }), 's', 'ok', /PROVIDER_JWT_SECRET/],
  [
    'are published, and the secret is accepted too',
    answer(200, { keys: [es256] }),
    's',
    'warn',
    /can make tokens/,
  ],
  [
    'cannot verify signatures',
    answer(200, { keys: [{ kty: 'oct' }, { ...es256, use: 'enc' }] }),
    undefined,
    'fail',
    /2 keys, none of which/,
  ],
  ['are not published', answer(404), undefined, 'fail', /no key set \(404\)/],
  ['are not published, and the secret is known', answer(404), 's', 'ok', /HS256/],
  ['are not reachable', nowhere, undefined, undefined, /^$/],
])('doctor reports signing keys that %s', (_, keySet, providerJwtSecret, state, message) => {
  const [finding] = findingsOf(providerChecks, { config: { providerJwtSecret }, keySet, answers: [], now })
  expect(finding?.state).toBe(state)
  expect(finding?.message ?? '').toMatch(message)
})
