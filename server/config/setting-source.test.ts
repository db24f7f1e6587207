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

/** Where the server listens, by the environment and the flags. */
function listenOf(environment: Record<string, string>, flags: Record<string, string> = {}): unknown {
  return checkSettings(readSettings(flags, environment), { production: false }).config.listen
}

it('PORT is read as a port on every address where LISTEN is not set', () => {
  const onAll = { host: '0.0.0.0', port: 8080 }
  expect(listenOf({ PORT: '8080' })).toEqual(onAll)
  expect(listenOf({ PORT: '8080', DRAWBRIDGE_LISTEN: '' })).toEqual(onAll)
  expect(readSettings({}, { PORT: '8080' }).given.map(({ name }) => name)).toEqual(['PORT'])
})

it('LISTEN wins over PORT, as a variable and as a flag', () => {
  const local = { host: '127.0.0.1', port: 8787 }
  expect(listenOf({ PORT: '8080', DRAWBRIDGE_LISTEN: '8787' })).toEqual(local)
  expect(listenOf({ PORT: '8080' }, { listen: '8787' })).toEqual(local)
  expect(problemsOf({ PORT: 'nonsense', DRAWBRIDGE_LISTEN: '8787' })).toEqual([])
  expect(problemsOf({ PORT: '8080', DRAWBRIDGE_LISTEN: '0.0.0.0:1' })).toEqual([
    expect.stringMatching(/^DRAWBRIDGE_LISTEN: /),
  ])
})

it('an empty PORT is unset', () => {
  expect(listenOf({ PORT: '' })).toEqual({ host: '127.0.0.1', port: 8787 })
  expect(problemsOf({ PORT: '' })).toEqual([])
})

it.each(['0', '65536', '-1', '80.5', ' 80', 'tcp://10.0.0.1:80', '127.0.0.1:8080', '0x50', '123456'])(
  'PORT refuses %j by its name',
  (text) => {
    expect(problemsOf({ PORT: text })).toEqual([
      `PORT: expected a port, from 1 to 65535; got ${JSON.stringify(text)}.`,
    ])
  },
)

it('PORT with the embedded provider is a fault that says why and how to go on', () => {
  expect(problemsOf({ PORT: '8080' })).toEqual([
    'PORT: listens on 0.0.0.0, but the embedded provider is for this computer alone: set LISTEN to a loopback address, such as 127.0.0.1:8787.',
  ])
})

it('PORT of a file is named with its file and line', () => {
  const places = new Map([['PORT', ' of drawbridge.env, line 3']])
  const read = readSettings({}, { PORT: 'x' }, places)
  expect(read.given.map(({ name, origin }) => [name, origin])).toEqual([
    ['PORT of drawbridge.env, line 3', 'file'],
  ])
  expect(checkSettings(read, { production: false }).problems).toEqual([
    'PORT of drawbridge.env, line 3: expected a port, from 1 to 65535; got "x".',
  ])
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
