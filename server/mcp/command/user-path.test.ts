import { delimiter } from 'node:path'
import { describe, expect, it } from 'vitest'
import { userPath } from './user-path.ts'

const path = (...folders: string[]): string => folders.join(delimiter)
const npm = ['/p/node_modules/.bin', '/node_modules/.bin', '/npm/run-script/lib/node-gyp-bin']

describe('PATH of a command', () => {
  it.each<[given: string, left: string]>([
    [path(...npm, '/usr/bin', '/bin'), path('/usr/bin', '/bin')],
    [path('/usr/bin', '/p/node_modules/.bin'), path('/usr/bin', '/p/node_modules/.bin')],
    [path(...npm), path(...npm)],
    ['', ''],
  ])('%s is %s', (given, left) => expect(userPath(given)).toBe(left))
})
