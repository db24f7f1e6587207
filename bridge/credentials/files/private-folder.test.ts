import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CredentialError } from '../credential-store.ts'
import { createPrivateFolder, type PrivateFolder } from './private-folder.ts'

const faultOf = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'none',
    (error: unknown) => {
      if (error instanceof CredentialError) return error.fault
      throw error
    },
  )

function mode(path: string): string {
  return (lstatSync(path).mode & 0o777).toString(8)
}

describe.skipIf(process.platform === 'win32')('a private folder', () => {
  let home: string
  let root: string
  let warnings: string[]
  let folder: PrivateFolder
  const open = (name?: string): PrivateFolder =>
    createPrivateFolder(root, name, (line) => warnings.push(line))
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'drawbridge-folder-'))
    root = join(home, 'user', 'credentials')
    warnings = []
    folder = open('records')
  })
  afterEach(() => rmSync(home, { recursive: true, force: true }))

  it('is not made for a read', async () => {
    expect(await folder.read('a')).toBeUndefined()
    expect(await folder.names()).toEqual([])
    expect(await folder.remove('a')).toBe(false)
    expect(readdirSync(home)).toEqual([])
  })

  it('keeps what was written, for its owner only, whatever the umask', async () => {
    const before = process.umask(0)
    await folder.write('a', 'text').finally(() => process.umask(before))
    expect(await folder.read('a')).toBe('text')
    expect([join(home, 'user'), root, folder.path].map(mode)).toEqual(['700', '700', '700'])
    expect(mode(join(folder.path, 'a'))).toBe('600')
    expect(await folder.names()).toEqual(['a'])
    expect(warnings).toEqual([])
  })

  it('replaces a file as a whole: whoever reads meanwhile sees the one or the other', async () => {
    await folder.write('a', 'x'.repeat(50_000))
    const wholes = new Set(['x', 'y'].map((letter) => letter.repeat(50_000)))
    let reads = 0
    const read = async (): Promise<void> => {
      expect(wholes.has((await folder.read('a')) ?? '')).toBe(true)
      reads += 1
    }
    for (let round = 0; round < 30; round++) {
      const writing = [...wholes].map((whole) => folder.write('a', whole))
      await Promise.all([...writing, read(), read(), read()])
    }
    expect(reads).toBe(90)
    expect(readdirSync(folder.path)).toEqual(['a'])
  })

  it('tightens modes and says so', async () => {
    await folder.write('a', 'text')
    chmodSync(root, 0o755)
    chmodSync(folder.path, 0o750)
    chmodSync(join(folder.path, 'a'), 0o644)
    expect(await open('records').read('a')).toBe('text')
    expect([root, folder.path, join(folder.path, 'a')].map(mode)).toEqual(['700', '700', '600'])
    expect(warnings).toHaveLength(3)
    expect(warnings[2]).toContain('mode 0644')
  })

  it('refuses a symbolic link in place of the file, the folder or the one above', async () => {
    const elsewhere = join(home, 'elsewhere')
    mkdirSync(elsewhere, { mode: 0o700 })
    writeFileSync(join(elsewhere, 'a'), 'planted', { mode: 0o600 })
    await folder.prepare()
    symlinkSync(join(elsewhere, 'a'), join(folder.path, 'a'))
    expect(await faultOf(folder.read('a'))).toBe('not_writable')
    expect(await faultOf(folder.write('a', 'text'))).toBe('not_writable')
    expect(readFileSync(join(elsewhere, 'a'), 'utf8')).toBe('planted')

    rmSync(folder.path, { recursive: true })
    symlinkSync(elsewhere, folder.path)
    expect(await faultOf(open('records').read('a'))).toBe('not_writable')
    expect(await faultOf(open('records').write('b', 'text'))).toBe('not_writable')

    rmSync(root, { recursive: true })
    symlinkSync(elsewhere, root)
    expect(await faultOf(open('records').write('b', 'text'))).toBe('not_writable')
    expect(readdirSync(elsewhere)).toEqual(['a'])
  })

  it('does not wait for what is no file', async () => {
    await folder.prepare()
    execFileSync('mkfifo', [join(folder.path, 'a')])
    mkdirSync(join(folder.path, 'b'))
    expect(await faultOf(folder.read('a'))).toBe('not_writable')
    expect(await faultOf(folder.read('b'))).toBe('not_writable')
  })

  it('removes drafts of processes that are long gone, and no others', async () => {
    await folder.prepare()
    for (const name of ['.a.old.tmp', '.a.new.tmp']) writeFileSync(join(folder.path, name), 'half')
    utimesSync(join(folder.path, '.a.old.tmp'), 1_000_000, 1_000_000)
    await open('records').write('a', 'text')
    expect(readdirSync(folder.path).sort()).toEqual(['.a.new.tmp', 'a'])
  })

  it.each(['file', '/proc/drawbridge', '/dev/null'])('cannot be made below %s', async (place) => {
    writeFileSync(join(home, 'file'), '')
    root = join(place === 'file' ? join(home, 'file') : place, 'credentials')
    expect(await faultOf(open().write('a', 'text'))).toBe('not_writable')
    expect(await faultOf(open('records').prepare())).toBe('not_writable')
    expect(await open().read('a')).toBeUndefined()
  })

  it('is made again when somebody removed it', async () => {
    await folder.write('a', 'text')
    rmSync(root, { recursive: true })
    await folder.write('a', 'more')
    expect(await folder.read('a')).toBe('more')
  })
})
