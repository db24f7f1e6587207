import { execFile } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { keyFileAt } from './secret-key-file.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder, 'secret-keys')
  writeFileSync(path, 'a:1,b:2\n', { mode: 0o600 })
})

it('a change replaces the key file as a whole, so that no reader sees half of it', () => {
  const { ino } = statSync(path)
  keyFileAt(path).change((entries) => {
    expect(entries).toEqual(['a:1', 'b:2'])
    return ['c:3', ...entries]
  })
  expect(readFileSync(path, 'utf8')).toBe('c:3\na:1\nb:2\n')
  expect(statSync(path).ino).not.toBe(ino)
  expect(readdirSync(folder).toSorted()).toEqual(['secret-keys', 'secret-keys.lock'])
})

it.each([0o600, 0o640, 0o400])('a change of the key file keeps the mode %o', (mode) => {
  chmodSync(path, mode)
  keyFileAt(path).change((entries) => entries)
  expect(statSync(path).mode & 0o777).toBe(mode)
})

it('a change that throws leaves the key file unchanged, and lets the next one in', () => {
  const fail = (): never => {
    throw new Error('no')
  }
  expect(() => keyFileAt(path).change(fail)).toThrow('no')
  expect(readFileSync(path, 'utf8')).toBe('a:1,b:2\n')
  keyFileAt(path).change(() => ['d:4'])
  expect(readFileSync(path, 'utf8')).toBe('d:4\n')
})

it('a change of the key file follows a link', () => {
  const link = join(folder, 'link')
  symlinkSync(path, link)
  keyFileAt(link).change(() => ['d:4'])
  expect(readFileSync(path, 'utf8')).toBe('d:4\n')
  expect(readFileSync(link, 'utf8')).toBe('d:4\n')
})

it('a change of the key file is refused while another process makes one', () => {
  keyFileAt(path).change(() => {
    const other = (): void => keyFileAt(path, { waitMs: 0 }).change(() => ['lost:1'])
    expect(other).toThrow(`Another command is changing ${path}.`)
    return ['d:4']
  })
  expect(readFileSync(path, 'utf8')).toBe('d:4\n')
})

it('processes that change the key file at once all find their entries in it', async () => {
  const module = new URL('secret-key-file.ts', import.meta.url).href
  const work = (name: string): string => `
      const { keyFileAt } = await import(${JSON.stringify(module)})
      for (let n = 0; n < 5; n += 1) keyFileAt(${JSON.stringify(path)}).change((all) => ['${name}' + n + ':1', ...all])`
  const run = promisify(execFile)
  await Promise.all(
    ['x', 'y', 'z'].map((name) => run(process.execPath, ['--input-type=module', '-e', work(name)])),
  )
  const entries = readFileSync(path, 'utf8').trim().split('\n')
  expect(new Set(entries).size).toBe(17)
  expect(entries.slice(-2)).toEqual(['a:1', 'b:2'])
})

it('a change never creates the key file', () => {
  const missing = join(folder, 'none')
  expect(() => keyFileAt(missing).change(() => ['d:4'])).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  expect(readdirSync(folder)).toEqual(['secret-keys'])
})
