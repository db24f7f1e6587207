import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readOrCreateSecretKeys } from './secret-key-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-keys-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const never = (): string => {
  throw new Error('The file was there.')
}

describe('readOrCreateSecretKeys', () => {
  it('makes the file once, for its owner only, and reads it from then on', () => {
    const path = join(folder, 'new', 'secret-keys')
    expect(readOrCreateSecretKeys(path, () => 'kid:text')).toBe('kid:text')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o700)
    expect(readOrCreateSecretKeys(path, never)).toBe('kid:text')
    expect(readFileSync(path, 'utf8')).toBe('kid:text\n')
    expect(readdirSync(join(folder, 'new'))).toEqual(['secret-keys'])
  })

  it('white space around the text does not count', () => {
    const path = join(folder, 'secret-keys')
    writeFileSync(path, '\n kid:text \r\n')
    expect(readOrCreateSecretKeys(path, never)).toBe('kid:text')
  })

  it('two that start at once get the same text, whoever is first', () => {
    const path = join(folder, 'secret-keys')
    let inner = ''
    const outer = readOrCreateSecretKeys(path, () => {
      inner = readOrCreateSecretKeys(path, () => 'kid:inner')
      return 'kid:outer'
    })
    expect([inner, outer]).toEqual(['kid:inner', 'kid:inner'])
    expect(readFileSync(path, 'utf8')).toBe('kid:inner\n')
  })

  it('a process that dies while it makes the text leaves no empty file', () => {
    const path = join(folder, 'secret-keys')
    expect(() =>
      readOrCreateSecretKeys(path, () => {
        throw new Error('died')
      }),
    ).toThrow('died')
    expect(readOrCreateSecretKeys(path, () => 'kid:text')).toBe('kid:text')
  })

  it('a folder in the place of the file is an error, not a new key', () => {
    const path = join(folder, 'secret-keys')
    mkdirSync(path)
    expect(() => readOrCreateSecretKeys(path, never)).toThrow(expect.objectContaining({ code: 'EISDIR' }))
  })

  it('a file in the place of the folder is an error', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(() => readOrCreateSecretKeys(join(folder, 'file', 'secret-keys'), never)).toThrow(/EEXIST|ENOTDIR/)
  })

  it.skipIf(process.getuid?.() === 0)('a file that may not be read is an error, not a new key', () => {
    const path = join(folder, 'secret-keys')
    writeFileSync(path, 'kid:text')
    chmodSync(path, 0)
    expect(() => readOrCreateSecretKeys(path, never)).toThrow(expect.objectContaining({ code: 'EACCES' }))
  })
})
