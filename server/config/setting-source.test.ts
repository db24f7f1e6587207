import { expect, it } from 'vitest'
import { checkSettings } from './config.ts'
import { settings } from './setting-table.ts'
import { isProduction, readSettings } from './setting-source.ts'

/** What the command line would print. */
function problemsOf(
  environment: Record<string, string>,
  flags: Record<string, string> = {},
): readonly string[] {
  return checkSettings(readSettings(flags, environment), { production: isProduction(environment) }).problems
}

/** What was given, by field. */
function givenOf(flags: Record<string, string>, environment: Record<string, string>): unknown {
  return Object.fromEntries(
    readSettings(flags, environment).given.map(({ setting, texts }) => [setting.field, texts[0]]),
  )
}

it('settings are read from flags over variables over defaults', () => {
  const given = givenOf(
    { baseUrl: 'http://localhost:1' },
    { DRAWBRIDGE_BASE_URL: 'http://localhost:2', DRAWBRIDGE_LOG: 'debug' },
  )
  expect(given).toEqual({ baseUrl: 'http://localhost:1', log: 'debug' })
})

it('a setting has the name by which its value was given', () => {
  const { name } = readSettings({ baseUrl: 'x' }, { DRAWBRIDGE_BASE_URL: 'y', DRAWBRIDGE_LOG: 'debug' })
  const nameOf = (field: string): string | undefined =>
    settings.filter((setting) => setting.field === field).map(name)[0]
  expect(nameOf('baseUrl')).toBe('--base-url')
  expect(nameOf('log')).toBe('DRAWBRIDGE_LOG')
  expect(nameOf('store')).toBe('DRAWBRIDGE_STORE')
})

it('every setting of the table is read', () => {
  const environment = Object.fromEntries(settings.map(({ variable }) => [`DRAWBRIDGE_${variable}`, variable]))
  expect(givenOf({}, environment)).toEqual(
    Object.fromEntries(settings.map(({ field, variable }) => [field, variable])),
  )
})

it('an empty variable is unset, an empty flag is given', () => {
  expect(givenOf({}, { DRAWBRIDGE_BASE_URL: '' })).toEqual({})
  expect(givenOf({ baseUrl: '' }, { DRAWBRIDGE_BASE_URL: 'x' })).toEqual({ baseUrl: '' })
})

it('variables without our prefix are ignored', () => {
  expect(givenOf({}, { BASE_URL: 'x', drawbridge_base_url: 'x', XDRAWBRIDGE_LOG: 'x' })).toEqual({})
})

it.each([
  ['DRAWBRIDGE_BASEURL', ' Did you mean DRAWBRIDGE_BASE_URL?'],
  ['DRAWBRIDGE_SECRET_KEY', ' Did you mean DRAWBRIDGE_SECRET_KEYS?'],
  ['DRAWBRIDGE_SOMETHING_ELSE_ENTIRELY', ''],
])('%s is no setting, and its value may be a secret:%s', (variable, suggested) => {
  expect(problemsOf({ [variable]: 'hunter2' })).toEqual([
    `${variable}: there is no such setting.${suggested}`,
  ])
})

it.each([
  ['postgres://u:hunter2@db.example/d', true],
  ['postgres://db.example/d?user=u&password=hunter2', true],
  ['postgres://u@db.example/d', false],
  ['sqlite:a:b@c', false],
])('a password in a flag is a fault that does not repeat it: %s', (store, exposed) => {
  const { problems } = readSettings({ store }, {})
  expect(problems).toEqual(exposed ? ['--store: holds a password. Give it as DRAWBRIDGE_STORE.'] : [])
})

it('unknown variables are reported together with every other fault', () => {
  const problems = problemsOf(
    { DRAWBRIDGE_STOER: 'memory:', DRAWBRIDGE_X: '1', DRAWBRIDGE_LOG: 'loud', NODE_ENV: 'production' },
    { sessionTtl: 'x' },
  )
  expect(problems).toEqual([
    expect.stringMatching(/^DRAWBRIDGE_STOER: /),
    expect.stringMatching(/^DRAWBRIDGE_X: /),
    expect.stringMatching(/^--session-ttl: /),
    expect.stringMatching(/^DRAWBRIDGE_LOG: /),
    expect.stringMatching(/NODE_ENV=production/),
  ])
})
