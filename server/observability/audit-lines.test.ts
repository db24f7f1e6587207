import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { auditReader } from './audit-lines.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

const path = (name = 'audit.jsonl'): string => join(folder, name)

async function linesOf(since = 0): Promise<string[]> {
  const found: string[] = []
  for await (const lines of auditReader(path())(since)) found.push(...lines.filter(Boolean))
  return found
}

/** Writes a file that was last written to at `at`, in epoch seconds. */
function write(name: string, content: string | Buffer, at = 1000): void {
  writeFileSync(path(name), content)
  utimesSync(path(name), at, at)
}

describe('the lines of the audit file', () => {
  it('an audit file is read in lines, also the last one without an end', async () => {
    write('audit.jsonl', 'one\r\ntwo\n\nthree')
    expect(await linesOf()).toEqual(['one', 'two', 'three'])
  })

  it('an audit file of many chunks is read in whole lines and characters', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `${index} ${'ü€😀'.repeat(index % 7)}`)
    write('audit.jsonl', lines.join('\n'))
    expect(await linesOf()).toEqual(lines)
  })

  it('of a line of several megabytes only the beginning is read, and the next one whole', async () => {
    write('audit.jsonl', `${'x'.repeat(5_000_000)}\nnext\n`)
    const [long = '', ...others] = await linesOf()
    expect(long.length).toBeLessThan(1000)
    expect(others).toEqual(['next'])
  })

  it('rotated files beside the audit file are read with it, and no others', async () => {
    for (const name of ['.1', '.2', '.10', '-20270114', '-2027-01-13'])
      write(`audit.jsonl${name}`, `of ${name}\n`)
    for (const name of ['.3.gz', '-20270113.gz']) write(`audit.jsonl${name}`, gzipSync(`of ${name}\n`))
    for (const name of ['.bak', '.1~', '.1.swp', '.gz', '1', '.tar.1', '.1.xz'])
      write(`audit.jsonl${name}`, 'other\n')
    for (const name of ['my-audit.jsonl', 'my-audit.jsonl.1', 'access.jsonl.1']) write(name, 'other\n')
    write('audit.jsonl', 'of itself\n')
    expect((await linesOf()).toSorted()).toEqual(
      ['itself', '.1', '.2', '.10', '-20270114', '-2027-01-13', '.3.gz', '-20270113.gz']
        .map((name) => `of ${name}`)
        .toSorted(),
    )
  })

  it('rotated files that were last written to before the time asked for are not read', async () => {
    write('audit.jsonl', 'new\n', 3000)
    write('audit.jsonl.1', 'just\n', 2000)
    write('audit.jsonl.2', 'old\n', 1999)
    write('audit.jsonl.3.gz', 'broken')
    expect((await linesOf(2000)).toSorted()).toEqual(['just', 'new'])
  })

  it('a rotated file that is being compressed is read once', async () => {
    write('audit.jsonl', '')
    write('audit.jsonl.1', 'once\n')
    write('audit.jsonl.1.gz', gzipSync('once\n').subarray(0, 12))
    expect(await linesOf()).toEqual(['once'])
  })

  it('a rotation while the files are read neither hides nor repeats a line', async () => {
    const many = Array.from({ length: 50_000 }, (_, index) => `line ${index}`)
    write('audit.jsonl.1', 'older\n')
    write('audit.jsonl', many.join('\n'))
    const found: string[] = []
    for await (const lines of auditReader(path())(0)) {
      if (found.length === 0) {
        renameSync(path('audit.jsonl.1'), path('audit.jsonl.2'))
        renameSync(path(), path('audit.jsonl.1'))
        writeFileSync(path(), 'after\n')
      }
      found.push(...lines.filter(Boolean))
    }
    expect(found.toSorted()).toEqual([...many, 'older'].toSorted())
  })

  it('a reader that stops early leaves no file open', async () => {
    write('audit.jsonl', 'x\n'.repeat(500_000))
    for (const name of ['.1', '.2']) write(`audit.jsonl${name}`, 'x\n'.repeat(500_000))
    for (let round = 0; round < 20; round += 1) for await (const _ of auditReader(path())(0)) break
    const open = readdirSync('/proc/self/fd').map((fd) => {
      const file = join('/proc/self/fd', fd)
      return existsSync(file) ? readlinkSync(file) : ''
    })
    expect(open.filter((file) => file.startsWith(folder))).toEqual([])
  })

  it('lines that are appended while the file is read do not break it', async () => {
    write('audit.jsonl', `${'before\n'.repeat(20_000)}half`)
    const found: string[] = []
    for await (const lines of auditReader(path())(0)) {
      if (found.length === 0) appendFileSync(path(), ' and half\nafter\n')
      found.push(...lines.filter(Boolean))
    }
    expect(found.slice(20_000)).toEqual(['half and half', 'after'])
  })

  it('an audit file behind a symbolic link is read', async () => {
    write('target', 'one\n')
    symlinkSync(path('target'), path())
    expect(await linesOf()).toEqual(['one'])
  })
})

describe('an audit file that cannot be read', () => {
  it('without AUDIT, reading says so and what to set', async () => {
    await expect(auditReader(undefined)(0)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      status: 409,
      message: 'There is no record of calls. Set DRAWBRIDGE_AUDIT to a file: it gets those from then on.',
      nextStep: expect.stringContaining('drawbridge-server usage - <'),
    })
  })

  it.each<[what: string, prepare: () => void, reason: RegExp]>([
    ['missing', () => {}, /ENOENT: no such file or directory, stat '.*audit\.jsonl'\.$/],
    ['a folder', () => mkdirSync(path()), /audit\.jsonl is not a regular file\.$/],
    ['a pipe, which it would wait for', () => execFileSync('mkfifo', [path()]), /is not a regular file\.$/],
    [
      'beside a broken compressed one',
      () => {
        write('audit.jsonl', 'one\n')
        write('audit.jsonl.2.gz', gzipSync('x'.repeat(1000)).subarray(0, 15))
      },
      /unexpected end of file\.$/,
    ],
  ])('an audit file that is %s is refused with the reason', async (_what, prepare, reason) => {
    prepare()
    await expect(linesOf()).rejects.toMatchObject({
      name: 'OperatorRefusal',
      status: 409,
      message: expect.stringMatching(reason),
    })
  })
})
