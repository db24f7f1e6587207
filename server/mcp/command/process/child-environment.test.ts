import { delimiter } from 'node:path'
import { expect, it } from 'vitest'
import { childEnvironment } from './child-environment.ts'

const environment = { PATH: '/bin', HOME: '/root', LANG: 'C', TMPDIR: '/tmp/own', SECRET: 'of the server' }

it.each([
  ['the same user of the operating system', undefined, ['PATH', 'HOME', 'LANG', 'TMPDIR']],
  [
    'another one, to whom folders of this one mean nothing',
    { firstUid: 1, lastUid: 1, gid: 1 },
    ['PATH', 'LANG'],
  ],
])('a process as %s inherits no more than it has to', (_who, user, names) => {
  const { values } = childEnvironment({ env: {}, user }, environment)
  expect(Object.keys(values)).toEqual(names)
})

it('a process on Windows inherits the places of programs and of their data', () => {
  const windows = { APPDATA: 'a', LOCALAPPDATA: 'b', COMSPEC: 'c', PATHEXT: 'd', PROGRAMFILES: 'e' }
  const { values } = childEnvironment({ env: {}, user: undefined }, { ...windows, PATH: '/bin', KEY: 'k' })
  expect(values).toEqual({ ...windows, PATH: '/bin' })
})

const path = (...folders: string[]): string => folders.join(delimiter)
const npm = ['/p/node_modules/.bin', '/node_modules/.bin', '/npm/run-script/lib/node-gyp-bin']

it.each<[given: string, left: string]>([
  [path(...npm, '/usr/bin', '/bin'), path('/usr/bin', '/bin')],
  [path('/usr/bin', '/p/node_modules/.bin'), path('/usr/bin', '/p/node_modules/.bin')],
  [path(...npm), path(...npm)],
  ['', ''],
])('a command of PATH %s gets %s, without what npm puts before it', (given, left) => {
  expect(childEnvironment({ env: {}, user: undefined }, { PATH: given }).values['PATH']).toBe(left)
})
