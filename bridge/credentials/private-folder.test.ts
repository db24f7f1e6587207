import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createPrivateFolder, type PrivateFolder } from './private-folder.ts'
import { thrownBy } from '../../tests/support/thrown-by.ts'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'

const faultOf = (work: () => unknown): string | undefined => thrownBy(work)?.fault

function mode(path: string): string {
  return (lstatSync(path).mode & 0o777).toString(8)
}

describe.skipIf(process.platform === 'win32')('a private folder', () => {
  let home: string
  let root: string
  let warnings: string[]
  let folder: PrivateFolder
  const open = (name = 'servers'): PrivateFolder =>
    createPrivateFolder(root, name, (line) => warnings.push(line))
  beforeEach(() => {
    home = temporaryFolder()
    root = join(home, 'user', 'credentials')
    warnings = []
    folder = open()
  })

  it('a read does not create the folder', () => {
    expect(folder.read('a')).toBeUndefined()
    expect(folder.names()).toEqual([])
    expect(folder.remove('a')).toBe(false)
    expect(readdirSync(home)).toEqual([])
  })

  it('files are readable by their owner only, whatever the umask', () => {
    const before = process.umask(0)
    folder.write('a', 'text')
    process.umask(before)
    expect(folder.read('a')).toBe('text')
    expect([join(home, 'user'), root, folder.path].map(mode)).toEqual(['700', '700', '700'])
    expect(mode(join(folder.path, 'a'))).toBe('600')
    expect(folder.names()).toEqual(['a'])
    expect(warnings).toEqual([])
  })

  it('a file is replaced atomically: a reader sees either version', () => {
    folder.write('a', 'before')
    const reader = openSync(join(folder.path, 'a'), 'r')
    folder.write('a', 'after')
    expect(readFileSync(reader, 'utf8')).toBe('before')
    closeSync(reader)
    expect(folder.read('a')).toBe('after')
    expect(readdirSync(folder.path)).toEqual(['a'])
  })

  it('modes that are too wide are tightened, with a note', () => {
    folder.write('a', 'text')
    chmodSync(root, 0o755)
    chmodSync(folder.path, 0o750)
    chmodSync(join(folder.path, 'a'), 0o644)
    expect(open().read('a')).toBe('text')
    expect([root, folder.path, join(folder.path, 'a')].map(mode)).toEqual(['700', '700', '600'])
    expect(warnings).toHaveLength(3)
    expect(warnings[2]).toContain('mode 0644')
  })

  it.each<[what: string, mode: number, other: string | undefined, said: RegExp]>([
    ['all users share, as /tmp', 0o1777, undefined, /is shared by all users of this computer/],
    ['others read and other programs use', 0o755, 'notes.txt', /has files of other programs/],
    ['a group writes and other programs use', 0o770, 'notes.txt', /has files of other programs/],
    ['others use beside its own things', 0o755, '.bashrc', /has files of other programs/],
  ])('the folder is refused below one that %s, which stays unchanged', (_what, before, other, said) => {
    mkdirSync(join(root, 'credentials'), { recursive: true })
    if (other !== undefined) writeFileSync(join(root, other), '')
    chmodSync(root, before)
    const nested = open('credentials/records')
    for (const work of [() => nested.prepare(), () => nested.write('a', 'text'), () => nested.read('a')])
      expect(thrownBy(work)).toMatchObject({
        fault: 'not_writable',
        message: expect.stringMatching(said) as string,
      })
    expect(lstatSync(root).mode & 0o7777).toBe(before)
    expect(readdirSync(join(root, 'credentials'))).toEqual([])
  })

  it('the folder is accepted below any folder of its owner', () => {
    mkdirSync(root, { recursive: true, mode: 0o700 })
    writeFileSync(join(root, 'notes.txt'), '')
    folder.write('a', 'text')
    expect(folder.read('a')).toBe('text')
  })

  it('a symbolic link is refused in place of the file, the folder or its parent', () => {
    const elsewhere = join(home, 'elsewhere')
    mkdirSync(elsewhere, { mode: 0o700 })
    writeFileSync(join(elsewhere, 'a'), 'planted', { mode: 0o600 })
    folder.prepare()
    symlinkSync(join(elsewhere, 'a'), join(folder.path, 'a'))
    expect(faultOf(() => folder.read('a'))).toBe('not_writable')
    expect(faultOf(() => folder.write('a', 'text'))).toBe('not_writable')
    expect(readFileSync(join(elsewhere, 'a'), 'utf8')).toBe('planted')

    rmSync(folder.path, { recursive: true })
    symlinkSync(elsewhere, folder.path)
    expect(faultOf(() => open().read('a'))).toBe('not_writable')
    expect(faultOf(() => open().write('b', 'text'))).toBe('not_writable')

    rmSync(root, { recursive: true })
    symlinkSync(elsewhere, root)
    expect(faultOf(() => open().write('b', 'text'))).toBe('not_writable')
    expect(readdirSync(elsewhere)).toEqual(['a'])
  })

  it('a pipe or a folder in place of a file is refused without waiting', () => {
    folder.prepare()
    execFileSync('mkfifo', [join(folder.path, 'a')])
    mkdirSync(join(folder.path, 'b'))
    expect(faultOf(() => folder.read('a'))).toBe('not_writable')
    expect(faultOf(() => folder.read('b'))).toBe('not_writable')
  })

  it('drafts of processes that ended long ago are removed, and no others', () => {
    folder.prepare()
    for (const name of ['.a.old.tmp', '.a.new.tmp']) writeFileSync(join(folder.path, name), 'half')
    utimesSync(join(folder.path, '.a.old.tmp'), 1_000_000, 1_000_000)
    open().write('a', 'text')
    expect(readdirSync(folder.path).sort()).toEqual(['.a.new.tmp', 'a'])
  })

  it.each(['file', '/proc/drawbridge', '/dev/null'])('the folder cannot be created below %s', (place) => {
    writeFileSync(join(home, 'file'), '')
    root = join(place === 'file' ? join(home, 'file') : place, 'credentials')
    expect(faultOf(() => open().write('a', 'text'))).toBe('not_writable')
    expect(faultOf(() => open('a/b').prepare())).toBe('not_writable')
    expect(open().read('a')).toBeUndefined()
  })

  it('a removed folder is created again', () => {
    folder.write('a', 'text')
    rmSync(root, { recursive: true })
    folder.write('a', 'more')
    expect(folder.read('a')).toBe('more')
  })
})
