import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { thrownBy } from '../../../tests/support/thrown-by.ts'
import { type NewFile, refuseObstacles, textIn, writeFiles } from './new-files.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

const at = (path: string): string => join(folder, path)
const files: NewFile[] = [
  { path: 'secret', text: 's', isPrivate: true },
  { path: 'a/b/public', text: 'p' },
]

const replacing = files.map((file): NewFile => ({ ...file, ifThere: 'replace' }))

describe('the files that init writes', () => {
  it('files are complete, with their modes, and nothing else is left', () => {
    writeFiles(folder, files)
    expect(new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }))).toEqual(
      new Set(['a', 'a/b', 'a/b/public', 'secret']),
    )
    expect([readFileSync(at('secret'), 'utf8'), readFileSync(at('a/b/public'), 'utf8')]).toEqual(['s', 'p'])
    expect([statSync(at('secret')).mode & 0o777, statSync(at('a/b/public')).mode & 0o777]).toEqual([
      0o600, 0o644,
    ])
    expect(process.listenerCount('SIGINT')).toBe(0)
  })

  it.each(['utf8', 'utf16le'] as const)('a file that a shell wrote in %s is read as text', (encoding) => {
    writeFileSync(at('.gitignore'), Buffer.from('\uFEFFnode_modules\r\n', encoding))
    expect(textIn(folder, '.gitignore')).toBe('node_modules\r\n')
  })

  it('if one file cannot be written, none is', () => {
    writeFileSync(at('a'), 'a file where a folder is needed')
    writeFileSync(at('.gitignore'), 'mine')
    const more: NewFile[] = [{ path: '.gitignore', text: 'mine and more', ifThere: 'extend' }, ...files]
    expect(thrownBy(() => writeFiles(folder, more))).toMatchObject({ code: 'ENOTDIR' })
    expect(readdirSync(folder).toSorted()).toEqual(['.gitignore', 'a'])
    expect(readFileSync(at('.gitignore'), 'utf8')).toBe('mine')
  })

  it('a name that is wanted twice is written neither time, though both were free', () => {
    const twice: NewFile[] = [...files, { path: './secret', text: 'other' }]
    expect(thrownBy(() => writeFiles(folder, twice))).toMatchObject({ code: 'EEXIST' })
    expect(readdirSync(folder)).toEqual(['a'])
  })

  it('every file in the way is named', () => {
    for (const path of ['secret', 'a/b/public']) {
      mkdirSync(join(at(path), '..'), { recursive: true })
      writeFileSync(at(path), 'mine')
    }
    const error = thrownBy(() => writeFiles(folder, files))
    expect(error?.message).toBe('There already: secret, a/b/public.')
    writeFiles(folder, replacing)
    expect(readFileSync(at('secret'), 'utf8')).toBe('s')
  })

  it('a file that was readable by others is not, once it holds secrets', () => {
    writeFileSync(at('.env'), 'A=1\n')
    chmodSync(at('.env'), 0o644)
    writeFiles(folder, [{ path: '.env', text: 'A=1\nB=2\n', isPrivate: true, ifThere: 'extend' }])
    expect(statSync(at('.env')).mode & 0o777).toBe(0o600)
  })

  it.each(['a', 'a/b', 'a/b/public'])('a link at %s is not followed, also with force', (path) => {
    const elsewhere = temporaryFolder()
    mkdirSync(join(at(path), '..'), { recursive: true })
    symlinkSync(elsewhere, at(path))
    expect(thrownBy(() => writeFiles(folder, replacing))?.message).toBe(`A link is in the way: ${path}.`)
    expect([readdirSync(elsewhere), readdirSync(folder)]).toEqual([[], ['a']])
  })
})

it.runIf(process.getuid?.() === 0)('a folder of another user is named', () => {
  chmodSync(folder, 0o755)
  const { url } = import.meta
  const script = `import { refuseObstacles } from ${JSON.stringify(new URL('new-files.ts', url).href)}
try { refuseObstacles(${JSON.stringify(folder)}, []) } catch (error) { process.stdout.write(error.message) }`
  // Root can write everywhere, so another user asks.
  const node = [process.execPath, '--input-type=module', '-e', script]
  const [program, ...argv] = ['setpriv', '--reuid=65534', '--clear-groups', ...node]
  const { stdout, stderr } = spawnSync(program, argv, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '' },
  })
  expect(stdout, stderr).toBe(`This user may not write ${folder}.`)
  expect(() => refuseObstacles(folder, [])).not.toThrow()
})
