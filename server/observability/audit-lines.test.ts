import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { auditReader } from './audit-lines.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

const path = (name = 'audit.jsonl'): string => join(folder, name)

async function linesOf(): Promise<string[]> {
  const found: string[] = []
  for await (const line of auditReader(path())(undefined)) found.push(line)
  return found.filter(Boolean)
}

function write(name: string, content: string): void {
  writeFileSync(path(name), content)
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

  it('a file that was rotated away beside the audit file is not read', async () => {
    write('audit.jsonl', 'new\n')
    write('audit.jsonl.1', 'old\n')
    expect(await linesOf()).toEqual(['new'])
  })

  it('a reader that stops early leaves no file open', async () => {
    write('audit.jsonl', 'x\n'.repeat(500_000))
    for (let round = 0; round < 20; round += 1) for await (const _ of auditReader(path())(undefined)) break
    const open = (): string[] =>
      readdirSync('/proc/self/fd')
        .map((fd) => join('/proc/self/fd', fd))
        .map((file) => (existsSync(file) ? readlinkSync(file) : ''))
    await expect.poll(() => open().filter((file) => file.startsWith(folder))).toEqual([])
  })

  it('lines that are appended while the file is read do not break it', async () => {
    write('audit.jsonl', `${'before\n'.repeat(20_000)}half`)
    const found: string[] = []
    for await (const line of auditReader(path())(undefined)) {
      if (found.length === 0) appendFileSync(path(), ' and half\nafter\n')
      found.push(line)
    }
    expect(found.slice(20_000)).toEqual(['half and half', 'after', ''])
  })

  it('an audit file behind a symbolic link is read', async () => {
    write('target', 'one\n')
    symlinkSync(path('target'), path())
    expect(await linesOf()).toEqual(['one'])
  })
})

describe('an audit file that cannot be read', () => {
  it('without AUDIT, reading says so and what to set', async () => {
    await expect(auditReader(undefined)(undefined)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      status: 409,
      message: 'There is no record of calls. Set DRAWBRIDGE_AUDIT to a file: it gets those from then on.',
      nextStep: expect.stringContaining('drawbridge-server usage - <'),
    })
  })

  it.each<[what: string, prepare: () => void, reason: RegExp]>([
    ['missing', () => {}, /ENOENT: no such file or directory, stat '.*audit\.jsonl'\.$/],
    ['a folder', () => mkdirSync(path()), /audit\.jsonl is not a regular file\.$/],
    ['a pipe, which it would wait for', () => execFileSync('mkfifo', [path()]), /is not a regular file\.$/],
  ])('an audit file that is %s is refused with the reason', async (_what, prepare, reason) => {
    prepare()
    await expect(linesOf()).rejects.toMatchObject({
      name: 'OperatorRefusal',
      status: 409,
      message: expect.stringMatching(reason),
    })
  })
})
