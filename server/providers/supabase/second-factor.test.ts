import { describe, expect, it } from 'vitest'
import { factorsToAsk, isUuid, type SecondFactorPolicy } from './second-factor.ts'

const ids = [1, 2, 3].map((digit) => `${digit}0000000-0000-4000-8000-000000000000`)

const factor = (members: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: ids[0],
  status: 'verified',
  factor_type: 'totp',
  friendly_name: 'Phone',
  ...members,
})
const answer = (...factors: unknown[]): unknown => ({ user: { factors } })
const phone = { id: ids[0], label: 'Phone' }

describe('factors that are requested after a first step', () => {
  it.each<[what: string, policy: SecondFactorPolicy, isProven: boolean, factors: unknown[], asked: unknown]>([
    ['an account with a factor', 'if-enrolled', false, [factor()], [phone]],
    ['an account with a factor', 'require', false, [factor()], [phone]],
    ['an account with a factor', 'ignore', false, [factor()], []],
    ['a factor that is proven already', 'if-enrolled', true, [factor()], []],
    ['a factor that is proven already', 'require', true, [factor()], []],
    ['an account without', 'if-enrolled', false, [], []],
    ['an account without', 'require', false, [], 'second_factor_missing'],
    ['a factor that was never verified', 'if-enrolled', false, [factor({ status: 'unverified' })], []],
    ['a phone', 'if-enrolled', false, [factor({ factor_type: 'phone' })], 'second_factor_unusable'],
    [
      'a kind of the future',
      'if-enrolled',
      false,
      [factor({ factor_type: undefined })],
      'second_factor_unusable',
    ],
    [
      'an app beside a phone',
      'if-enrolled',
      false,
      [factor({ id: ids[1], factor_type: 'phone' }), factor()],
      [phone],
    ],
    [
      'a factor whose id is none',
      'if-enrolled',
      false,
      [factor({ id: '../../user' })],
      'second_factor_unusable',
    ],
    ['things that are no factors', 'if-enrolled', false, [null, 'totp', []], []],
  ])(
    'an account with %s is asked for a code by the policy %s, proven: %s',
    (_what, policy, isProven, factors, asked) => {
      const ask = () => factorsToAsk(answer(...factors), isProven, policy)
      if (typeof asked === 'string') expect(ask).toThrow(expect.objectContaining({ failure: asked }))
      else expect(ask()).toEqual(asked)
    },
  )

  it.each([[undefined], [{ user: null }], [{ user: { factors: {} } }]])(
    'no second factors are requested after %j',
    (body) => {
      expect(factorsToAsk(body, false, 'if-enrolled')).toEqual([])
    },
  )
})

it.each<[names: unknown[], labels: string[]]>([
  [
    ['Phone', 'Tablet'],
    ['Phone', 'Tablet'],
  ],
  [
    ['Phone', 'Phone', 'Phone'],
    ['Phone', 'Phone (2)', 'Phone (3)'],
  ],
  [
    ['Phone', 'Phone', 'Phone (2)'],
    ['Phone', 'Phone (2)', 'Phone (2) (2)'],
  ],
  [
    [undefined, '', '  '],
    ['Authenticator app', 'Authenticator app (2)', 'Authenticator app (3)'],
  ],
  [
    [7, ' Phone '],
    ['Authenticator app', 'Phone'],
  ],
  [['x'.repeat(200)], ['x'.repeat(80)]],
])('the labels of factors: %j are %j', (names, labels) => {
  const factors = names.map((friendly_name, index) => factor({ id: ids[index], friendly_name }))
  const asked = factorsToAsk(answer(...factors), false, 'if-enrolled')
  expect(asked.map(({ label }) => label)).toEqual(labels)
  expect(asked.map(({ id }) => id)).toEqual(ids.slice(0, names.length))
})

it.each([
  [ids[0], true],
  ['ABCDEFAB-0000-4000-8000-000000000000', true],
  ['', false],
  ['..', false],
  [`${ids[0]}/x`, false],
  [`${ids[0]}\n`, false],
])('the id of a factor: %j: %s', (text, expected) => {
  expect(isUuid(text)).toBe(expected)
})
